import { type Db, databaseFault, inTransaction } from '@plinth/kit/database'
import type { Health, Server } from '@plinth/kit/http'
import {
  DAY_SECONDS,
  failPoint,
  HOUR_MS,
  MINUTE_SECONDS,
  secondsAfter,
  startRounds,
} from '@plinth/kit/runtime'
import { inTrace } from '@plinth/kit/tracing'
import {
  claimMails,
  countMails,
  deleteMail,
  deleteOldMails,
  type Mail,
  type Outcome,
  postponeMail,
  recordOutcome,
  savePrepared,
} from '../database/mail.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { type Details, LAST_MAIL, type MailKind } from './messages.ts'
import { type Outbox, type Reader, renderStored, sealDetails } from './outbox.ts'
import { recipientFor } from './recipient.ts'
import { type ServerState, watchServer } from './server-state.ts'
import { type Delivered, openTransport, type Transport } from './transport.ts'

/**
 * Decides, after the reply to the request, whether a mail is sent and what it contains. Returns `undefined`
 * if no mail is sent; its row is then deleted.
 */
export type Prepare = (db: Db<IdentityTables>, mail: Mail) => Promise<Prepared | undefined>

/** `userId` is for the export and the erasure; `null` if the mail belongs to no user. */
type Prepared = { kind: MailKind; userId: number | null; details: Details; reader?: Reader }

/** The reply that promised the mail goes out first. */
const SOON_MS = 50
const WAITING_MS = 1_000
const IDLE_MS = 15_000
const CONCURRENCY = 2
/** Longer than an attempt can take. */
const LEASE_SECONDS = 120
/** When a mail that could not be prepared is tried again; others are sent in between. */
const PREPARE_AGAIN_SECONDS = 5
const RETRY_MINUTES = [1, 5, 15, 60]
const MAX_RETRY_SECONDS = Math.max(...RETRY_MINUTES) * MINUTE_SECONDS
/** Anyone can cause any number of these: resets and notices must not wait for them. */
const FOR_STRANGERS: MailKind[] = [
  'already-registered',
  'verify-email',
  'sign-in-code',
  'sign-up-code',
]
const RETENTION_DAYS = 30
/** While the database is away a round may take long, so it is over when a round succeeds. */
const OUTAGE = { state: 'mail delivery', message: 'mail delivery failed', quietMs: HOUR_MS }

export type Delivery = { stop(): Promise<void>; health(): Promise<Health> }

/** Sends due mails: two at a time on each node, and each mail on only one node at a time. */
export function startDelivery(
  outbox: Outbox,
  prepare: Prepare,
  server: Server,
  publicUrl: string,
): Delivery {
  const { smtp } = outbox.settings
  const transport = smtp && openTransport(outbox.settings, smtp, publicUrl)
  const log = server.log
  const state = watchServer(transport, { log, metrics: server.metrics })
  measure(server, outbox)
  let stopping = false
  const sendDue = () =>
    sendAllDue(outbox, { prepare, transport, state }, () => stopping).then(
      (isMoreQueued) => {
        log.outages.ended(OUTAGE.state)
        return isMoreQueued
      },
      (err) => {
        log.outages.failed({ ...OUTAGE, err })
        return true
      },
    )
  const rounds = startRounds({
    // One round sends the mails of many requests, so it belongs to no trace.
    round: async () => ((await inTrace(undefined, sendDue)) ? WAITING_MS : IDLE_MS),
    soonMs: SOON_MS,
  })
  outbox.queued.on('mail', rounds.wake)
  return {
    health: state.health,
    async stop() {
      stopping = true
      outbox.queued.off('mail', rounds.wake)
      await rounds.stop()
      transport?.close()
    },
  }
}

/** Returns whether more mails are queued for later. */
async function sendAllDue(outbox: Outbox, handlers: Handlers, isStopping: () => boolean) {
  let mails: Mail[]
  do {
    mails = isStopping() ? [] : await claimDue(outbox)
    // Waits for each, so that a failure does not leave another attempt running on its own.
    const attempts = await Promise.allSettled(mails.map((mail) => deliver(outbox, handlers, mail)))
    for (const attempt of attempts) if (attempt.status === 'rejected') throw attempt.reason
  } while (mails.length > 0)
  return !isStopping() && (await countMails(outbox.db, 'queued')) > 0
}

function claimDue({ db, clock }: Outbox): Promise<Mail[]> {
  const now = clock()
  return claimMails(db, {
    now,
    leaseUntil: secondsAfter(now, LEASE_SECONDS),
    most: CONCURRENCY,
    longestRetrySeconds: MAX_RETRY_SECONDS,
    lastKinds: FOR_STRANGERS,
  })
}

type Handlers = { prepare: Prepare; transport: Transport | undefined; state: ServerState }

async function deliver(
  outbox: Outbox,
  { prepare, transport, state }: Handlers,
  claimed: Mail,
): Promise<void> {
  const expired = claimed.expiresAt <= outbox.clock().toISOString()
  const to = recipientFor(outbox.settings, claimed.address)
  if (expired || !to)
    return finish(outbox, claimed, {
      state: 'dropped',
      lastReply: expired
        ? 'It expired before it could be sent.'
        : 'Mail cannot be sent to this address.',
    })
  failPoint('mail:claimed')
  const mail = claimed.prepared ? claimed : await prepareNow(outbox, prepare, claimed)
  const rendered = mail && renderStored(outbox, mail)
  if (!mail || !rendered) return
  if (!transport)
    return finish(outbox, mail, {
      state: 'sent',
      lastReply: 'Kept in the outbox: SMTP is not configured.',
    })
  const { subject, text, html } = rendered
  const delivered = await transport.send({ id: mail.id, to, subject, text, html })
  state.note(delivered)
  await finish(outbox, mail, outcomeOf(outbox, mail, delivered))
}

/** A mail that could not be prepared was not sent, so it need not wait until its lease expires. */
async function prepareNow(outbox: Outbox, prepare: Prepare, mail: Mail): Promise<Mail | undefined> {
  const { db, clock } = outbox
  return prepareOnce(outbox, prepare, mail).catch(async (error) => {
    const again = secondsAfter(clock(), PREPARE_AGAIN_SECONDS)
    await postponeMail(db, mail, again).catch((second) => {
      // The lease decides then.
      if (databaseFault(second)) return
      const message = 'A mail could neither be prepared nor postponed.'
      throw new AggregateError([error, second], message, { cause: error })
    })
    throw error
  })
}

/** One transaction, so that a mail that is prepared twice has only one valid token. */
async function prepareOnce(
  outbox: Outbox,
  prepare: Prepare,
  mail: Mail,
): Promise<Mail | undefined> {
  return inTransaction(outbox.db, async (db) => {
    const prepared = await prepare(db, mail)
    if (!prepared) {
      await deleteMail(db, mail.id)
      return undefined
    }
    const { kind, userId } = prepared
    const details = sealDetails(outbox, mail, prepared)
    await savePrepared(db, { id: mail.id, kind, userId, details })
    return { ...mail, kind, userId, details, prepared: 1 }
  })
}

function outcomeOf({ clock }: Outbox, mail: Mail, delivered: Delivered): Partial<Outcome> {
  const lastReply = delivered.reply
  if (delivered.ok) return { state: 'sent', lastReply }
  const minutes = RETRY_MINUTES[mail.attempts]
  if (!delivered.retry || minutes === undefined) return { state: 'failed', lastReply }
  const nextAttemptAt = secondsAfter(clock(), minutes * MINUTE_SECONDS).toISOString()
  return { state: 'queued', lastReply, nextAttemptAt }
}

/** Deletes the content of a mail once it is sent, unless the outbox is where it is read (development). */
function finish(outbox: Outbox, mail: Mail, outcome: Partial<Outcome>): Promise<void> {
  const { state = 'dropped' } = outcome
  if (mail.kind === LAST_MAIL && state !== 'queued' && !outbox.settings.keepInOutbox)
    return deleteMail(outbox.db, mail.id)
  const done = state === 'dropped' || (state === 'sent' && !outbox.settings.keepInOutbox)
  return recordOutcome(outbox.db, mail, {
    nextAttemptAt: null,
    lastReply: null,
    ...outcome,
    state,
    attempts: mail.attempts + 1,
    sentAt: state === 'sent' ? outbox.clock().toISOString() : null,
    details: done ? null : mail.details,
  })
}

function measure({ metrics }: Server, { db }: Outbox): void {
  metrics.gauge(
    { name: 'plinth_mail_backlog', help: 'Mails by state that need attention.' },
    async () => [
      { labels: { state: 'queued' }, value: await countMails(db, 'queued') },
      { labels: { state: 'failed' }, value: await countMails(db, 'failed') },
    ],
  )
}

export function sweepMails({ db, clock }: Outbox, signal: AbortSignal): Promise<void> {
  return deleteOldMails(db, secondsAfter(clock(), -RETENTION_DAYS * DAY_SECONDS), signal)
}
