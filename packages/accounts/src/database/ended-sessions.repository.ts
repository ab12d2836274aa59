import type { Db } from '@plinth/kit/database'
import type { UpdateResult } from 'kysely'
import type { SessionWindow } from './sessions.repository.ts'
import type { AccountTables } from './tables.ts'

/** Ends an active session of one user. Its access tokens stay valid until they expire. */
export function logOutSession(
  db: Db<AccountTables>,
  userId: number,
  choice: { id: number } | { tokenHash: string },
  window: SessionWindow,
): Promise<boolean> {
  const active = activeSessions(db, userId, window).set({ state: 'logged_out' })
  const chosen =
    'id' in choice
      ? active.where('id', '=', choice.id)
      : active.where('token_hash', '=', choice.tokenHash)
  return hasChanged(chosen)
}

/** Ends an active session of one user, and refuses its access tokens from now on. */
export function revokeSession(
  db: Db<AccountTables>,
  userId: number,
  id: number,
  window: SessionWindow,
): Promise<boolean> {
  return hasChanged(
    activeSessions(db, userId, window).set({ state: 'revoked' }).where('id', '=', id),
  )
}

/** Like `revokeSession`, but also for a session that has logged out or expired. */
export function revokeAnySession(
  db: Db<AccountTables>,
  userId: number,
  id: number,
): Promise<boolean> {
  return hasChanged(
    db
      .updateTable('sessions')
      .set({ state: 'revoked' })
      .where('user_id', '=', userId)
      .where('id', '=', id)
      .where('state', '!=', 'revoked'),
  )
}

/** Revokes all sessions of one user, or all but one, including those that have logged out. */
export async function revokeSessions(
  db: Db<AccountTables>,
  userId: number,
  { except }: { except?: number } = {},
): Promise<void> {
  const all = db
    .updateTable('sessions')
    .set({ state: 'revoked' })
    .where('user_id', '=', userId)
    .where('state', '!=', 'revoked')
  await (except === undefined ? all : all.where('id', '!=', except)).execute()
}

export async function revokeAllSessions(db: Db<AccountTables>): Promise<void> {
  await db.updateTable('sessions').set({ state: 'revoked' }).execute()
}

function activeSessions(
  db: Db<AccountTables>,
  userId: number,
  { now, createdAfter }: SessionWindow,
) {
  return db
    .updateTable('sessions')
    .where('user_id', '=', userId)
    .where('state', '=', 'active')
    .where('expires_at', '>', now.toISOString())
    .where('created_at', '>', createdAfter.toISOString())
}

async function hasChanged(update: {
  executeTakeFirstOrThrow(): Promise<UpdateResult>
}): Promise<boolean> {
  const { numUpdatedRows } = await update.executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
