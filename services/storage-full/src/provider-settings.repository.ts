import { type Db, forUpdate } from '@plinth/kit'
import type { ProviderName } from './providers/provider.ts'
import type { StorageTables } from './tables.ts'

export async function findSealedSettings(
  db: Db<StorageTables>,
  provider: ProviderName,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('storage_settings')
    .select('sealed_settings')
    .where('provider', '=', provider)
    .executeTakeFirst()
  return row?.sealed_settings
}

/** Nobody else changes them until this transaction ends. */
export async function lockSealedSettings(
  db: Db<StorageTables>,
  provider: ProviderName,
): Promise<void> {
  const row = db.selectFrom('storage_settings').select('provider').where('provider', '=', provider)
  await forUpdate(db, row).execute()
}

export async function updateSealedSettings(
  db: Db<StorageTables>,
  provider: ProviderName,
  sealed: string,
  now: Date,
): Promise<void> {
  const saved = { sealed_settings: sealed, saved_at: now.toISOString() }
  await db
    .insertInto('storage_settings')
    .values({ provider, ...saved })
    .onConflict((conflict) => conflict.column('provider').doUpdateSet(saved))
    .execute()
}
