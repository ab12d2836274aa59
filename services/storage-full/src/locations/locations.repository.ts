import { type Db, forUpdate, preparedFind } from '@plinth/kit'
import type { ProviderName, StorageTables } from '../database/tables.ts'
import type { Location } from './providers/provider.ts'

/** The table has one row. */
const ACTIVE_ID = 1

type NewLocation = {
  provider: ProviderName
  place: string
  prefix: string
  sealedSettings: string
  now: Date
}

const COLUMNS = [
  'storage_locations.id',
  'storage_locations.provider',
  'storage_locations.prefix',
  'storage_locations.sealed_settings as sealedSettings',
] as const

/** The location for a place, new or known; a known one takes the new settings, such as new keys. */
export async function upsertLocation(db: Db<StorageTables>, location: NewLocation) {
  return db
    .insertInto('storage_locations')
    .values({
      provider: location.provider,
      place: location.place,
      prefix: location.prefix,
      sealed_settings: location.sealedSettings,
      created_at: location.now.toISOString(),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['provider', 'place'])
        .doUpdateSet({ sealed_settings: location.sealedSettings }),
    )
    .returning(['id', 'provider', 'prefix', 'sealed_settings as sealedSettings'])
    .executeTakeFirstOrThrow()
}

export async function listLocations(db: Db<StorageTables>): Promise<Location[]> {
  return db.selectFrom('storage_locations').select(COLUMNS).orderBy('id').execute()
}

export async function findLocation(
  db: Db<StorageTables>,
  id: number,
): Promise<Location | undefined> {
  return db.selectFrom('storage_locations').select(COLUMNS).where('id', '=', id).executeTakeFirst()
}

export async function findLocationAt(
  db: Db<StorageTables>,
  provider: ProviderName,
  place: string,
): Promise<Location | undefined> {
  return db
    .selectFrom('storage_locations')
    .select(COLUMNS)
    .where('provider', '=', provider)
    .where('place', '=', place)
    .executeTakeFirst()
}

/** Whether a file is noted for a location, whatever its state. */
export async function hasFiles(db: Db<StorageTables>, locationId: number): Promise<boolean> {
  const file = await db
    .selectFrom('files')
    .select('id')
    .where('location_id', '=', locationId)
    .limit(1)
    .executeTakeFirst()
  return file !== undefined
}

const activeById = preparedFind((db: Db<StorageTables>, id: number) =>
  db
    .selectFrom('active_storage')
    .innerJoin('storage_locations', 'storage_locations.id', 'active_storage.location_id')
    .select(COLUMNS)
    .where('active_storage.id', '=', id),
)

export function findActiveLocation(db: Db<StorageTables>): Promise<Location | undefined> {
  return activeById(db, ACTIVE_ID)
}

export async function updateActiveLocation(
  db: Db<StorageTables>,
  locationId: number,
  now: Date,
): Promise<void> {
  const active = { location_id: locationId, activated_at: now.toISOString() }
  await db
    .insertInto('active_storage')
    .values({ id: ACTIVE_ID, ...active })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(active))
    .execute()
}

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
