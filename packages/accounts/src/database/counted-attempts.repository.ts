import { type Db, deleteUntil, forUpdate, prepared } from '@plinth/kit/database'
import { sql } from 'kysely'
import type { AccountTables } from './tables.ts'

/**
 * How often something was attempted in the window that ends at `endsAt`. The table is named after the first thing it
 * counted, failed logins; it also counts refusals, registrations, mails and notices.
 */
export type Counted = { times: number; endsAt: Date }

/** A window that starts now. A stored one that ends later was written before the clock was set back, and is ignored. */
export type Window = { now: Date; endsAt: Date }

export async function findCounted(
  db: Db<AccountTables>,
  attempt: string,
  window: Window,
): Promise<Counted | undefined> {
  const row = await attemptsWithin(db, attempt, window).executeTakeFirst()
  return row && countedOf(row)
}

/** Lists those that were counted in the window. */
export async function listCounted(
  db: Db<AccountTables>,
  attempts: string[],
  window: Window,
): Promise<{ attempt: string; times: number }[]> {
  return db
    .selectFrom('failed_attempts')
    .select(['attempt', 'failures as times'])
    .where('attempt', 'in', attempts)
    .where(isOpen(window))
    .execute()
}

/** Until the transaction ends, this attempt cannot be counted again. */
export async function lockCounted(
  db: Db<AccountTables>,
  attempt: string,
  window: Window,
): Promise<Counted | undefined> {
  const row = await forUpdate(db, attemptsWithin(db, attempt, window)).executeTakeFirst()
  return row && countedOf(row)
}

function attemptsWithin(db: Db<AccountTables>, attempt: string, window: Window) {
  return db
    .selectFrom('failed_attempts')
    .select(['failures', 'ends_at'])
    .where('attempt', '=', attempt)
    .where(isOpen(window))
}

function isOpen({ now, endsAt }: Window) {
  return sql<boolean>`failed_attempts.ends_at > ${now.toISOString()}
    and failed_attempts.ends_at <= ${endsAt.toISOString()}`
}

/** One statement, so that concurrent attempts on several nodes all count. */
export async function countAttempt(
  db: Db<AccountTables>,
  attempt: string,
  window: Window,
): Promise<Counted> {
  const endsAt = window.endsAt.toISOString()
  const row = await db
    .insertInto('failed_attempts')
    .values({ attempt, failures: 1, ends_at: endsAt })
    .onConflict((conflict) =>
      conflict.column('attempt').doUpdateSet({
        failures: sql`case when ${isOpen(window)} then failed_attempts.failures + 1 else 1 end`,
        ends_at: sql`case when ${isOpen(window)} then failed_attempts.ends_at else ${endsAt} end`,
      }),
    )
    .returning(['failures', 'ends_at'])
    .executeTakeFirstOrThrow()
  return countedOf(row)
}

/** Takes back an attempt that was counted in advance. */
export async function takeBackAttempt(db: Db<AccountTables>, attempt: string): Promise<void> {
  await db
    .updateTable('failed_attempts')
    .set(({ eb }) => ({ failures: eb('failures', '-', 1) }))
    .where('attempt', '=', attempt)
    .where('failures', '>', 0)
    .execute()
}

function countedOf(row: { failures: number; ends_at: string }): Counted {
  return { times: row.failures, endsAt: new Date(row.ends_at) }
}

const forget = prepared((db: Db<AccountTables>, { attempt }: { attempt: string }) =>
  db.deleteFrom('failed_attempts').where('attempt', '=', attempt),
)

export async function deleteAttempt(db: Db<AccountTables>, attempt: string): Promise<void> {
  await forget(db, { attempt })
}

export function deleteEndedAttempts(db: Db<AccountTables>, now: Date, signal: AbortSignal) {
  const ended = { table: 'failed_attempts', key: 'attempt', column: 'ends_at' }
  return deleteUntil(db, ended, now, signal)
}
