import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { type By, type Origin, recordSecurityEvent, type User } from '@plinth/accounts'
import { afterCommit, type Db, inTransaction, type PageRequest } from '@plinth/kit/database'
import { pageOf } from '@plinth/kit/http'
import { type Clock, DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { openText, type Sealed, sealText } from '@plinth/kit/tokens'
import {
  insertMail,
  isInOutbox,
  listAdministrators,
  listMailsTo,
  type Mail,
  pageOfMails,
  requeueMail,
} from '../database/mail.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import {
  ADMINISTRATOR,
  browserIn,
  type Details,
  languageFor,
  type MailKind,
  type Messages,
  readMessages,
  renderMail,
} from './messages.ts'
import { mailNotConfigured, mailNotFailed, mailUnknown } from './problems.ts'
import type { Language, MailSettings } from './settings.ts'

/** What the mail rules need; every rule takes it as its first argument. */
export type Outbox = {
  db: Db<IdentityTables>
  clock: Clock
  /** Seals the content of the mails. */
  key: Buffer
  settings: MailSettings
  messages: Messages
  /** Emits `mail` once a queued mail is committed; the delivery listens. */
  queued: EventEmitter<{ mail: [] }>
}

type OutboxConfig = { accounts: { masterKey: Buffer }; mail: MailSettings }

export function openOutbox(
  db: Db<IdentityTables>,
  clock: Clock,
  { accounts, mail }: OutboxConfig,
): Outbox {
  const { masterKey: key } = accounts
  const queued = new EventEmitter<{ mail: [] }>()
  return { db, clock, key, settings: mail, messages: readMessages(mail), queued }
}

/** Call it before promising a mail. */
export function requireMail(outbox: Outbox): void {
  if (!canSend(outbox)) throw mailNotConfigured()
}

export function canSend({ settings }: Outbox): boolean {
  return settings.smtp !== undefined || settings.keepInOutbox
}

export type Reader = Pick<User, 'username' | 'email' | 'verified'>

type NewMail = {
  kind: MailKind
  to: string
  userId?: number
  /** If absent, they are decided before the first attempt, after the reply to the request. */
  details?: Details
  /** The user whom the mail is about. */
  reader?: Reader
  lifetimeSeconds: number
}

/**
 * Queues a mail in the caller's transaction: it is sent if and only if that commits. It is in the requester's
 * language if the requester is the reader (`origin.languages`).
 */
export async function queueMail(
  outbox: Outbox,
  db: Db<IdentityTables>,
  { kind, to, userId, details, reader, lifetimeSeconds }: NewMail,
  origin: Origin,
): Promise<{ id: string }> {
  const now = outbox.clock()
  const id = randomUUID()
  await insertMail(db, {
    id,
    kind,
    address: to,
    userId: userId ?? null,
    language: languageFor(origin.languages, outbox.settings.language),
    details: details ? sealDetails(outbox, { id, address: to }, { details, reader }) : null,
    prepared: details ? 1 : 0,
    originAddress: origin.administrator ? ADMINISTRATOR : origin.address,
    userAgent: origin.administrator ? null : origin.userAgent,
    state: 'queued',
    attempts: 0,
    nextAttemptAt: now.toISOString(),
    leaseUntil: null,
    createdAt: now.toISOString(),
    expiresAt: secondsAfter(now, lifetimeSeconds).toISOString(),
    sentAt: null,
    lastReply: null,
  })
  const announce = () => void outbox.queued.emit('mail')
  if (db.isTransaction) afterCommit(db, announce)
  else announce()
  return { id }
}

const WEEK_SECONDS = 7 * DAY_SECONDS

/** Queues a mail about the service itself to every administrator, in the caller's transaction. */
export async function mailAdministrators(
  outbox: Outbox,
  db: Db<IdentityTables>,
  { kind, details }: { kind: MailKind; details: Details },
): Promise<void> {
  if (!canSend(outbox)) return
  const origin = { address: outbox.settings.appName, userAgent: null, requestId: null }
  for (const reader of await listAdministrators(db)) {
    const mail = { kind, to: reader.email, userId: reader.id, details, reader }
    await queueMail(outbox, db, { ...mail, lifetimeSeconds: WEEK_SECONDS }, origin)
  }
}

/**
 * Adds the reader's name. Anyone can register a stranger's address: a mail to one that is not verified contains
 * nothing that the user of the account has chosen, or strangers could send their own words and links in our mails.
 */
export function sealDetails(
  { key }: Outbox,
  { id, address }: { id: string; address: string },
  { details, reader }: { details: Details; reader?: Reader | undefined },
): Sealed {
  const { newEmail: _, ...ours } = details
  const isVerified = reader?.verified && reader.email === address
  const shown = isVerified ? { ...details, username: reader.username } : ours
  return sealText(key, JSON.stringify(shown), `mail ${id}`)
}

/**
 * A stranger causes these mails and must not choose their language. `queueMail` cannot set it, because the
 * kind is decided only when the mail is prepared.
 */
const CAUSED_BY_OTHERS: MailKind[] = ['email-taken', 'already-registered']

/** The mail as it is sent; `undefined` once its content is deleted. */
export function renderStored({ key, messages, settings }: Outbox, mail: Mail) {
  if (mail.details === null) return undefined
  const kind = mail.kind as MailKind
  const language = CAUSED_BY_OTHERS.includes(kind) ? settings.language : (mail.language as Language)
  const details = JSON.parse(openText(key, mail.details, `mail ${mail.id}`)) as Details
  const about = {
    app: settings.appName,
    time: timeIn(language, mail.createdAt),
    address: mail.originAddress,
    browser: browserIn(messages[language], mail.userAgent),
  }
  const filled = { ...about, ...datedIn(language, details) }
  const rendered = renderMail(messages[language], kind, filled, settings.colour)
  return { ...rendered, code: details.code ?? null, link: details.link ?? null }
}

function timeIn(language: Language, at: string): string {
  const format = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const
  return `${new Intl.DateTimeFormat(language, format).format(new Date(at))} UTC`
}

/** Dates are written out, because readers of the same language understand 11/12 as different days. */
function datedIn(language: Language, { date, ...details }: Details): Details {
  return date ? { ...details, date: timeIn(language, date) } : details
}

/** For administrators: the state of each mail, but nothing of its content. */
export async function mailsForAdministrators({ db }: Outbox, page: PageRequest) {
  const { mails, total } = await pageOfMails(db, page)
  return pageOf(mails.map(summaryOf), total, page)
}

function summaryOf({ id, kind, address, state, attempts, createdAt, sentAt, lastReply }: Mail) {
  return { id, kind, to: address, state, attempts, createdAt, sentAt, lastReply }
}

const MAX_SHOWN = 50

/** In development: the newest mails as their recipients would read them. */
export async function mailsForDevelopers(outbox: Outbox, to: string | undefined) {
  const mails = await listMailsTo(outbox.db, to, MAX_SHOWN)
  return mails.flatMap((mail) => {
    const rendered = renderStored(outbox, mail)
    return rendered ? [{ ...summaryOf(mail), ...rendered }] : []
  })
}

const SAMPLES: Details = {
  username: 'ada',
  code: '12345678',
  link: 'https://app.example/account/#verify=token',
  newEmail: 'ada@new.example',
  endpoint: 'https://app.example/events',
  date: '2030-01-31T12:00:00.000Z',
  remaining: '7',
  address: '203.0.113.7',
}

/** Every mail as it would look, with the operator's texts and sample details. */
export function mailTemplates({ clock, messages, settings }: Outbox, asked?: Language) {
  const language = asked ?? settings.language
  const texts = messages[language]
  const details = {
    ...datedIn(language, SAMPLES),
    app: settings.appName,
    time: timeIn(language, clock().toISOString()),
    browser: browserIn(texts, 'Firefox Linux'),
  }
  const kinds = Object.keys(texts.mails) as MailKind[]
  return kinds.map((kind) => ({ kind, ...renderMail(texts, kind, details, settings.colour) }))
}

export async function sendAgain(outbox: Outbox, id: string, { actor, origin }: By): Promise<void> {
  const { clock } = outbox
  await inTransaction(outbox.db, async (db) => {
    if (!(await requeueMail(db, id, clock())))
      throw (await isInOutbox(db, id)) ? mailNotFailed() : mailUnknown()
    await recordSecurityEvent({ clock, db }, { event: 'MAIL_RETRIED', actor, subject: id }, origin)
  })
  outbox.queued.emit('mail')
}
