import { type Db, deleteUntil, forUpdate, prepared } from '@plinth/kit/database'
import { sql } from 'kysely'
import type { AccountTables } from './tables.ts'

export type FailedAttempts = { failures: number; endsAt: Date }

/** A window that starts now. A stored one that ends later was written before the clock was set back, and is ignored. */
export type Window = { now: Date; endsAt: Date }

export async function findFailedAttempts(
  db: Db<AccountTables>,
  attempt: string,
  window: Window,
): Promise<FailedAttempts | undefined> {
  const row = await attemptsWithin(db, attempt, window).executeTakeFirst()
  return row && failedAttemptsOf(row)
}

/** Lists the attempts that have failures in the window. */
export async function listFailedAttempts(
  db: Db<AccountTables>,
  attempts: string[],
  window: Window,
): Promise<{ attempt: string; failures: number }[]> {
  return db
    .selectFrom('failed_attempts')
    .select(['attempt', 'failures'])
    .where('attempt', 'in', attempts)
    .where(isOpen(window))
    .execute()
}

/** Until the transaction ends, no other failure can be counted for this attempt. */
export async function lockFailedAttempts(
  db: Db<AccountTables>,
  attempt: string,
  window: Window,
): Promise<FailedAttempts | undefined> {
  const row = await forUpdate(db, attemptsWithin(db, attempt, window)).executeTakeFirst()
  return row && failedAttemptsOf(row)
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

/** One statement, so that concurrent failures on several nodes all count. */
export async function addFailedAttempt(
  db: Db<AccountTables>,
  attempt: string,
  window: Window,
): Promise<FailedAttempts> {
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
  return failedAttemptsOf(row)
}

/** Takes back an attempt that was counted in advance. */
export async function subtractFailedAttempt(db: Db<AccountTables>, attempt: string): Promise<void> {
  await db
    .updateTable('failed_attempts')
    .set(({ eb }) => ({ failures: eb('failures', '-', 1) }))
    .where('attempt', '=', attempt)
    .where('failures', '>', 0)
    .execute()
}

function failedAttemptsOf(row: { failures: number; ends_at: string }): FailedAttempts {
  return { failures: row.failures, endsAt: new Date(row.ends_at) }
}

const forget = prepared((db: Db<AccountTables>, { attempt }: { attempt: string }) =>
  db.deleteFrom('failed_attempts').where('attempt', '=', attempt),
)

export async function deleteFailedAttempts(db: Db<AccountTables>, attempt: string): Promise<void> {
  await forget(db, { attempt })
}

export function deleteEndedAttempts(db: Db<AccountTables>, now: Date, signal: AbortSignal) {
  const ended = { table: 'failed_attempts', key: 'attempt', column: 'ends_at' }
  return deleteUntil(db, ended, now, signal)
}
