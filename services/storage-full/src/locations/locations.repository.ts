import { forUpdate, prepared } from '@plinth/kit/database'
import type { Sealed } from '@plinth/kit/tokens'
import type { ProviderName, StorageDb } from '../database/tables.ts'
import type { Location } from './providers/provider.ts'

/** The table has one row. */
const ACTIVE_ID = 1

const COLUMNS = [
  'storage_locations.id',
  'storage_locations.provider',
  'storage_locations.prefix',
  'storage_locations.sealed_settings as sealedSettings',
] as const

type NewLocation = Omit<Location, 'id'> & { place: string; now: Date }

/** Inserts the location for a place; an existing one gets the new settings, such as new keys. */
export async function upsertLocation(db: StorageDb, location: NewLocation): Promise<Location> {
  const { provider, place, prefix, sealedSettings: sealed_settings } = location
  const created_at = location.now.toISOString()
  return db
    .insertInto('storage_locations')
    .values({ provider, place, prefix, sealed_settings, created_at })
    .onConflict((conflict) =>
      conflict.columns(['provider', 'place']).doUpdateSet({ sealed_settings }),
    )
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

export async function updateLocationPlace(
  db: StorageDb,
  id: number,
  { provider, place, sealedSettings }: Pick<NewLocation, 'provider' | 'place' | 'sealedSettings'>,
): Promise<void> {
  await db
    .updateTable('storage_locations')
    .set({ provider, place, sealed_settings: sealedSettings })
    .where('id', '=', id)
    .execute()
}

export async function listLocations(db: StorageDb): Promise<Location[]> {
  return db.selectFrom('storage_locations').select(COLUMNS).orderBy('id').execute()
}

export async function findLocation(db: StorageDb, id: number): Promise<Location | undefined> {
  return db.selectFrom('storage_locations').select(COLUMNS).where('id', '=', id).executeTakeFirst()
}

export async function findLocationAt(
  db: StorageDb,
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

/**
 * Counts the files whose bytes must be kept, including restorable ones and earlier versions. Stops at `most`, because
 * the tables may be large.
 */
export async function countFilesAt(db: StorageDb, id: number, most: number): Promise<number> {
  const counted = db
    .selectFrom('files')
    .select('id')
    .where('location_id', '=', id)
    .where('state', '!=', 'deleting')
    .unionAll(
      db
        .selectFrom('file_versions')
        .select('id')
        .where('location_id', '=', id)
        .where('state', '=', 'kept'),
    )
    .limit(most)
  const { count } = await db
    .selectFrom(counted.as('counted'))
    .select((files) => files.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

const activeById = prepared((db: StorageDb, { id }: { id: number }) =>
  db
    .selectFrom('active_storage')
    .innerJoin('storage_locations', 'storage_locations.id', 'active_storage.location_id')
    .select(COLUMNS)
    .where('active_storage.id', '=', id),
)

export async function findActiveLocation(db: StorageDb): Promise<Location | undefined> {
  const [location] = await activeById(db, { id: ACTIVE_ID })
  return location
}

export async function updateActiveLocation(
  db: StorageDb,
  location_id: number,
  now: Date,
): Promise<void> {
  const active = { location_id, activated_at: now.toISOString() }
  await db
    .insertInto('active_storage')
    .values({ id: ACTIVE_ID, ...active })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(active))
    .execute()
}

export async function findSealedSettings(
  db: StorageDb,
  provider: ProviderName,
): Promise<Sealed | undefined> {
  const row = await db
    .selectFrom('storage_settings')
    .select('sealed_settings')
    .where('provider', '=', provider)
    .executeTakeFirst()
  return row?.sealed_settings
}

/** Other nodes cannot change them until this transaction ends. */
export async function lockSealedSettings(db: StorageDb, provider: ProviderName): Promise<void> {
  const row = db.selectFrom('storage_settings').select('provider').where('provider', '=', provider)
  await forUpdate(db, row).execute()
}

export async function updateSealedSettings(
  db: StorageDb,
  provider: ProviderName,
  sealed_settings: Sealed,
  now: Date,
): Promise<void> {
  const saved = { sealed_settings, saved_at: now.toISOString() }
  await db
    .insertInto('storage_settings')
    .values({ provider, ...saved })
    .onConflict((conflict) => conflict.column('provider').doUpdateSet(saved))
    .execute()
}
