import { type Db, deleteUntil, type FromRow, toRow } from '@plinth/kit/database'
import type { IdentityTables } from './tables.ts'

type SignOutRow = IdentityTables['sign_outs']

export async function insertSignOut(
  db: Db<IdentityTables>,
  signOut: FromRow<SignOutRow>,
): Promise<void> {
  await db.insertInto('sign_outs').values(toRow<SignOutRow>(signOut)).execute()
}

/** Of several concurrent answers, one succeeds. */
export async function takeSignOut(
  db: Db<IdentityTables>,
  { id, browserHash, now }: { id: string; browserHash: string; now: Date },
): Promise<{ redirectTo: string | null } | undefined> {
  const row = await db
    .deleteFrom('sign_outs')
    .where('id', '=', id)
    .where('browser_hash', '=', browserHash)
    .where('expires_at', '>', now.toISOString())
    .returning('redirect_to')
    .executeTakeFirst()
  return row && { redirectTo: row.redirect_to }
}

export function deleteExpiredSignOuts(db: Db<IdentityTables>, now: Date, signal: AbortSignal) {
  return deleteUntil(db, { table: 'sign_outs', key: 'id', column: 'expires_at' }, now, signal)
}
