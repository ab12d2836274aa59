import { sql } from 'kysely'
import type { StorageDb } from '../database/tables.ts'

/** Records objects without a file; those already recorded keep the time they were first seen. */
export async function insertOrphans(
  db: StorageDb,
  location_id: number,
  keys: string[],
  now: Date,
): Promise<void> {
  if (keys.length === 0) return
  const first_seen_at = now.toISOString()
  await db
    .insertInto('orphans')
    .values(keys.map((object_key) => ({ location_id, object_key, first_seen_at })))
    .onConflict((conflict) => conflict.columns(['location_id', 'object_key']).doNothing())
    .execute()
}

/** Those of `keys` that have had no file since `before` or longer. */
export async function findOverdueOrphans(
  db: StorageDb,
  locationId: number,
  keys: string[],
  before: Date,
): Promise<string[]> {
  if (keys.length === 0) return []
  const rows = await db
    .selectFrom('orphans')
    .select('object_key')
    .where('location_id', '=', locationId)
    .where('object_key', 'in', keys)
    .where('first_seen_at', '<=', before.toISOString())
    .execute()
  return rows.map((row) => row.object_key)
}

export async function deleteOrphans(
  db: StorageDb,
  locationId: number,
  keys: string[],
): Promise<void> {
  if (keys.length === 0) return
  await db
    .deleteFrom('orphans')
    .where('location_id', '=', locationId)
    .where('object_key', 'in', keys)
    .execute()
}

export async function deleteExpiredLinks(db: StorageDb, now: Date): Promise<void> {
  await db.deleteFrom('temporary_links').where('expires_at', '<=', now.toISOString()).execute()
}

/** Only for a restored database: PostgreSQL adds `file_total_parts` to these totals, which is empty then. */
export async function recountTotals(db: StorageDb): Promise<void> {
  await db.deleteFrom('file_totals').execute()
  await sql`insert into file_totals (owner_id, total, bytes)
    select owner_id, sum(total), cast(sum(bytes) as bigint) from (
      select owner_id, 1 as total, size_bytes as bytes from files where state = 'stored'
      union all select kept.owner_id, 0, kept.size_bytes from file_versions kept
        join files on files.id = kept.file_id
        where kept.state = 'kept' and files.state = 'stored') counted
    group by owner_id`.execute(db)
}
