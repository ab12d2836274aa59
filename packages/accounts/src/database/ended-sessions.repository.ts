import type { Db } from '@plinth/kit/database'
import { sql, type UpdateResult } from 'kysely'
import type { SessionWindow } from './sessions.repository.ts'
import type { AccountTables } from './tables.ts'

/**
 * Ends an active session of one user. Its access tokens stay valid until they expire, except those of a
 * client, which end with the session.
 */
export function logOutSession(
  db: Db<AccountTables>,
  userId: number,
  choice: { id: number } | { tokenHash: string },
  window: SessionWindow,
): Promise<boolean> {
  const active = activeSessions(db, userId, window).set({
    state: sql`case when client_id is null then 'logged_out' else 'revoked' end`,
  })
  const chosen =
    'id' in choice
      ? active.where('id', '=', choice.id)
      : active.where('token_hash', '=', choice.tokenHash)
  return hasChanged(chosen)
}

/** Ends an active session of one user and those that belong to it, and refuses their access tokens from now on. */
export function revokeSession(
  db: Db<AccountTables>,
  userId: number,
  id: number,
  window: SessionWindow,
): Promise<boolean> {
  return hasChanged(
    activeSessions(db, userId, window)
      .set({ state: 'revoked' })
      .where((session) => session.or([session('id', '=', id), session('parent_id', '=', id)])),
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
      .where((session) => session.or([session('id', '=', id), session('parent_id', '=', id)]))
      .where('state', '!=', 'revoked'),
  )
}

/**
 * Revokes all sessions of one user, including those that have logged out, or all but one. If that is a
 * client's, the browser's session that it belongs to is kept as well: it would end with that one.
 */
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
  const parent = sql<number>`coalesce((select parent_id from sessions where id = ${except ?? 0}), 0)`
  await (except === undefined
    ? all
    : all.where('id', '!=', except).where('id', '!=', parent)
  ).execute()
}

/** The sessions of clients end with their time, or when that of the browser they belong to is over. */
export async function revokeExpiredClients(db: Db<AccountTables>, now: Date): Promise<void> {
  const active = db.updateTable('sessions').set({ state: 'revoked' }).where('state', '=', 'active')
  await active
    .where('client_id', 'is not', null)
    .where('expires_at', '<=', now.toISOString())
    .execute()
  await active
    .where('parent_id', 'in', (sessions) =>
      sessions
        .selectFrom('sessions as browsers')
        .select('browsers.id')
        .where('browsers.browser_hash', 'is not', null)
        .where('browsers.expires_at', '<=', now.toISOString()),
    )
    .execute()
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
