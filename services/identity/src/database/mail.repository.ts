import {
  type Db,
  deleteUntil,
  type FromRow,
  fromRow,
  type PageRequest,
  selectPage,
  sortRows,
  toRow,
} from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import { sql } from 'kysely'
import type { IdentityTables } from './tables.ts'

type MailRow = IdentityTables['mail_outbox']

export type Mail = FromRow<MailRow>

type OutcomeRow = Pick<
  MailRow,
  'state' | 'attempts' | 'next_attempt_at' | 'sent_at' | 'last_reply' | 'details'
>

export type Outcome = FromRow<OutcomeRow>

export async function insertMail(db: Db<IdentityTables>, mail: Mail): Promise<void> {
  await db.insertInto('mail_outbox').values(toRow<MailRow>(mail)).execute()
}

type Claim = {
  now: Date
  leaseUntil: Date
  most: number
  longestRetrySeconds: number
  /** Kinds that wait until no other mail is due. */
  lastKinds: string[]
}

/** Claims the next mails to send until `leaseUntil`; only one of several nodes gets each mail. */
export async function claimMails(
  db: Db<IdentityTables>,
  { now, leaseUntil, most, longestRetrySeconds, lastKinds }: Claim,
): Promise<Mail[]> {
  const isDue = dueAt(now, longestRetrySeconds)
  const due = await db
    .selectFrom('mail_outbox')
    .select('id')
    .where('state', '=', 'queued')
    .where(isDue)
    .orderBy(({ eb }) => eb.case().when('kind', 'in', lastKinds).then(1).else(0).end())
    .orderBy('next_attempt_at')
    .limit(most)
    .execute()
  if (due.length === 0) return []
  const until = leaseUntil.toISOString()
  const rows = await db
    .updateTable('mail_outbox')
    .set({ lease_until: until, next_attempt_at: until })
    .where(
      'id',
      'in',
      due.map(({ id }) => id),
    )
    .where('state', '=', 'queued')
    .where(isDue)
    .returningAll()
    .execute()
  return rows.map(fromRow)
}

/**
 * A mail that no node has tried is due whatever its time says, and so is one whose time is further away than the
 * longest retry: the clock was ahead when it was set.
 */
function dueAt(now: Date, longestRetrySeconds: number) {
  const latest = secondsAfter(now, longestRetrySeconds).toISOString()
  return sql<boolean>`(next_attempt_at <= ${now.toISOString()}
    or (lease_until is null and (attempts = 0 or next_attempt_at > ${latest})))`
}

/** Makes a claimed mail due again at `at`, instead of when its lease expires. */
export async function postponeMail(
  db: Db<IdentityTables>,
  { id, leaseUntil }: Pick<Mail, 'id' | 'leaseUntil'>,
  at: Date,
): Promise<void> {
  await db
    .updateTable('mail_outbox')
    .set({ next_attempt_at: at.toISOString() })
    .where('id', '=', id)
    .where('lease_until', '=', leaseUntil)
    .execute()
}

/** Stores the content of the mail, so that a second attempt sends the same. */
export async function savePrepared(
  db: Db<IdentityTables>,
  { id, kind, userId, details }: Pick<Mail, 'id' | 'kind' | 'userId' | 'details'>,
): Promise<void> {
  await db
    .updateTable('mail_outbox')
    .set({ kind, user_id: userId, details, prepared: 1 })
    .where('id', '=', id)
    .execute()
}

/** Assigns mails sent to the address before the account existed. Others get their user when prepared. */
export async function assignMails(
  db: Db<IdentityTables>,
  { id, email }: { id: number; email: string },
): Promise<void> {
  await db
    .updateTable('mail_outbox')
    .set({ user_id: id })
    .where('address', '=', email)
    .where('prepared', '=', 1)
    .where('user_id', 'is', null)
    .execute()
}

export async function recordOutcome(
  db: Db<IdentityTables>,
  { id, leaseUntil }: Pick<Mail, 'id' | 'leaseUntil'>,
  outcome: Outcome,
): Promise<void> {
  const row = toRow<OutcomeRow>(outcome)
  await db
    .updateTable('mail_outbox')
    .set({ ...row, lease_until: null })
    .where('id', '=', id)
    .where('lease_until', '=', leaseUntil)
    .execute()
}

export async function isInOutbox(db: Db<IdentityTables>, id: string): Promise<boolean> {
  const mails = db.selectFrom('mail_outbox').select('id').where('id', '=', id)
  return (await mails.executeTakeFirst()) !== undefined
}

/** Deletes only mails that have not been sent yet. */
export async function deleteQueuedMails(
  db: Db<IdentityTables>,
  userId: number,
  kind: string,
): Promise<void> {
  await db
    .deleteFrom('mail_outbox')
    .where(sql<boolean>`state = 'queued'`)
    .where('user_id', '=', userId)
    .where('kind', '=', kind)
    .execute()
}

export async function deleteMail(db: Db<IdentityTables>, id: string): Promise<void> {
  await db.deleteFrom('mail_outbox').where('id', '=', id).execute()
}

/** Puts a failed mail back into the queue. */
export async function requeueMail(db: Db<IdentityTables>, id: string, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('mail_outbox')
    .set({ state: 'queued', next_attempt_at: now.toISOString(), attempts: 0 })
    .where('id', '=', id)
    .where('state', '=', 'failed')
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

export async function pageOfMails(db: Db<IdentityTables>, page: PageRequest) {
  const { rows, total } = await selectPage(db.selectFrom('mail_outbox'), page, (mails) =>
    sortRows(mails, page.sort).orderBy('created_at', 'desc').orderBy('id'),
  )
  return { mails: rows.map(fromRow), total }
}

export async function listMailsTo(
  db: Db<IdentityTables>,
  address: string | undefined,
  most: number,
): Promise<Mail[]> {
  const rows = await db
    .selectFrom('mail_outbox')
    .selectAll()
    .$if(address !== undefined, (all) => all.where('address', '=', address as string))
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(most)
    .execute()
  return rows.map(fromRow)
}

export async function countMails(db: Db<IdentityTables>, state: Mail['state']): Promise<number> {
  const { total } = await db
    .selectFrom('mail_outbox')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('state', '=', state)
    .executeTakeFirstOrThrow()
  return Number(total)
}

export function deleteOldMails(db: Db<IdentityTables>, before: Date, signal: AbortSignal) {
  return deleteUntil(db, { table: 'mail_outbox', key: 'id', column: 'created_at' }, before, signal)
}

/** Enabled ones only. */
export async function listAdministrators(db: Db<IdentityTables>) {
  const rows = await db
    .selectFrom('users')
    .select(['id', 'username', 'email', 'verified'])
    .where('admin', '=', 1)
    .where('enabled', '=', 1)
    .execute()
  return rows.map((row) => ({ ...row, verified: row.verified === 1 }))
}
