import { type Db, type FromRow, fromRow } from '@plinth/kit/database'
import type { IdentityTables } from './tables.ts'

export type LogoutNotice = FromRow<IdentityTables['logout_notices']>

export async function listDueNotices(
  db: Db<IdentityTables>,
  now: Date,
  most: number,
): Promise<LogoutNotice[]> {
  const rows = await db
    .selectFrom('logout_notices')
    .selectAll()
    .where('next_attempt_at', '<=', now.toISOString())
    .orderBy('next_attempt_at')
    .limit(most)
    .execute()
  return rows.map(fromRow)
}

/** Counts an attempt before it is made, so that a node that dies does not repeat it at once. */
export async function claimNotice(
  db: Db<IdentityTables>,
  { sessionId, attempts }: LogoutNotice,
  nextAttemptAt: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('logout_notices')
    .set({ attempts: attempts + 1, next_attempt_at: nextAttemptAt.toISOString() })
    .where('session_id', '=', sessionId)
    .where('attempts', '=', attempts)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

export async function deleteNotice(db: Db<IdentityTables>, sessionId: number): Promise<void> {
  await db.deleteFrom('logout_notices').where('session_id', '=', sessionId).execute()
}
