import { type Db, deleteUntil, forUpdate, fromRow } from '@plinth/kit/database'
import type { IdentityTables } from './tables.ts'

/** The id of the last session checked. Until the transaction ends, no other node can continue from it. */
export async function lockWatchedSignIn(db: Db<IdentityTables>): Promise<number> {
  const last = forUpdate(db, db.selectFrom('watched_sign_ins').select('session_id'))
  return Number((await last.executeTakeFirstOrThrow()).session_id)
}

export async function updateWatchedSignIn(db: Db<IdentityTables>, session_id: number) {
  await db.updateTable('watched_sign_ins').set({ session_id }).execute()
}

/** In order of id, without the sessions of clients: those follow a sign-in. */
export async function listSignIns(
  db: Db<IdentityTables>,
  { after, most }: { after: number; most: number },
) {
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'user_id', 'address', 'user_agent', 'created_at'])
    .where('id', '>', after)
    .where('client_id', 'is', null)
    .orderBy('id')
    .limit(most)
    .execute()
  return rows.map(fromRow)
}

export async function listBrowsers(db: Db<IdentityTables>, userId: number) {
  const rows = await db
    .selectFrom('known_browsers')
    .select(['browser_hash', 'seen_at'])
    .where('user_id', '=', userId)
    .execute()
  return new Map(rows.map(({ browser_hash, seen_at }) => [browser_hash, seen_at]))
}

export async function saveBrowser(
  db: Db<IdentityTables>,
  { hash, userId, seenAt }: { hash: string; userId: number; seenAt: string },
): Promise<void> {
  await db
    .insertInto('known_browsers')
    .values({ browser_hash: hash, user_id: userId, seen_at: seenAt })
    .onConflict((conflict) => conflict.column('browser_hash').doUpdateSet({ seen_at: seenAt }))
    .execute()
}

export function deleteOldBrowsers(db: Db<IdentityTables>, before: Date, signal: AbortSignal) {
  const old = { table: 'known_browsers', key: 'browser_hash', column: 'seen_at' }
  return deleteUntil(db, old, before, signal)
}
