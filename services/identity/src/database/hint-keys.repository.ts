import { type Db, deleteUntil } from '@plinth/kit/database'
import type { IdentityTables } from './tables.ts'

export async function findHintKey(
  db: Db<IdentityTables>,
  kid: string,
): Promise<object | undefined> {
  const row = await db
    .selectFrom('hint_keys')
    .select('public_key')
    .where('kid', '=', kid)
    .executeTakeFirst()
  return row && JSON.parse(row.public_key)
}

export async function saveHintKey(
  db: Db<IdentityTables>,
  { kid, publicKey, usedAt }: { kid: string; publicKey: object; usedAt: Date },
): Promise<void> {
  const used_at = usedAt.toISOString()
  await db
    .insertInto('hint_keys')
    .values({ kid, public_key: JSON.stringify(publicKey), used_at })
    .onConflict((conflict) => conflict.column('kid').doUpdateSet({ used_at }))
    .execute()
}

export async function deleteOldHintKeys(
  db: Db<IdentityTables>,
  usedBefore: Date,
  signal: AbortSignal,
): Promise<void> {
  const keys = { table: 'hint_keys', key: 'kid', column: 'used_at' }
  await deleteUntil(db, keys, usedBefore, signal)
}
