import { forUpdate, inTransaction, prepared } from '@plinth/kit/database'
import { sql } from 'kysely'
import type { StorageDb } from '../database/tables.ts'
import type { StoredFile } from '../files/storage.ts'
import type { Facts } from './outcome.ts'

const DELETED_AT_ONCE = 100

export type Rendition = {
  id: number
  /** The name of its object. */
  name: string
  sizeBytes: number
  checksumSha256: string
}

/** What is known of the picture in an object; `undefined`: there is none. */
export type Known = { facts: Facts | undefined; renditions: Map<string, Rendition> }

type Spellings = { objectName: string; first: string; second: string; third: string; last: string }

const knownOf = prepared((db: StorageDb, { objectName, ...spellings }: Spellings) =>
  db
    .selectFrom('pictures')
    .leftJoin('renditions', (join) =>
      join
        .onRef('renditions.object_name', '=', 'pictures.object_name')
        .on('renditions.parameters', 'in', [
          spellings.first,
          spellings.second,
          spellings.third,
          spellings.last,
        ]),
    )
    .select(['width', 'height', 'frames', 'transparent'])
    .select(['id', 'parameters', 'name', 'size_bytes', 'checksum_sha256'])
    .where('pictures.object_name', '=', objectName),
)

/** What is known of a picture, with those of its renditions that have one of at most four spellings. */
export async function findKnown(
  db: StorageDb,
  objectName: string,
  spellings: string[],
): Promise<Known | undefined> {
  const [first = '', second = first, third = first, last = first] = spellings
  const rows = await knownOf(db, { objectName, first, second, third, last })
  const [row] = rows
  if (!row) return undefined
  const { width, height, frames, transparent } = row
  const facts =
    width === null || height === null
      ? undefined
      : { width, height, frames: frames ?? 1, transparent: transparent === 1 }
  const renditions = new Map<string, Rendition>()
  for (const { id, parameters, name, size_bytes, checksum_sha256 } of rows)
    if (id !== null && parameters !== null && name !== null)
      renditions.set(parameters, {
        id,
        name,
        sizeBytes: size_bytes ?? 0,
        checksumSha256: checksum_sha256 ?? '',
      })
  return { facts, renditions }
}

/** Records what a picture is. Returns false, and records nothing, when the file was deleted or moved meanwhile. */
export async function upsertFacts(
  db: StorageDb,
  { id, objectName }: StoredFile,
  facts: Facts | undefined,
): Promise<boolean> {
  const row = db
    .selectFrom('files')
    .select((file) => [
      'object_name',
      'id',
      file.val(facts?.width ?? null).as('width'),
      file.val(facts?.height ?? null).as('height'),
      file.val(facts?.frames ?? null).as('frames'),
      file.val(facts ? Number(facts.transparent) : null).as('transparent'),
    ])
    .where('id', '=', id)
    .where('object_name', '=', objectName)
    .where('state', '=', 'stored')
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('pictures')
    .columns(['object_name', 'file_id', 'width', 'height', 'frames', 'transparent'])
    .expression(forUpdate(db, row))
    .onConflict((conflict) =>
      conflict.column('object_name').doUpdateSet((excluded) => ({
        width: excluded.ref('excluded.width'),
        height: excluded.ref('excluded.height'),
        frames: excluded.ref('excluded.frames'),
        transparent: excluded.ref('excluded.transparent'),
      })),
    )
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0n
}

/** Where the object of a rendition is that has to go. */
export type Leaving = { name: string; locationId: number; sizeBytes: number }

type NewRendition = Omit<Rendition, 'id'> & {
  parameters: string
  usedAt: string
  facts: Facts
  /** How many renditions of a picture are kept. */
  limit: number
}

/**
 * Records a rendition whose object is stored already, and forgets those of the same picture beyond
 * `limit` that were not used for the longest time. Returns undefined, and changes nothing, when another node was
 * faster, or the file was deleted or moved meanwhile.
 */
export async function insertRendition(
  database: StorageDb,
  file: StoredFile,
  { facts, limit, ...rendition }: NewRendition,
): Promise<{ id: number; forgotten: Leaving[] } | undefined> {
  return inTransaction(database, async (db) => {
    if (!(await upsertFacts(db, file, facts))) return undefined
    const inserted = await db
      .insertInto('renditions')
      .values({
        object_name: file.objectName,
        parameters: rendition.parameters,
        location_id: file.location.id,
        name: rendition.name,
        size_bytes: rendition.sizeBytes,
        checksum_sha256: rendition.checksumSha256,
        used_at: rendition.usedAt,
      })
      .onConflict((conflict) => conflict.columns(['object_name', 'parameters']).doNothing())
      .returning('id')
      .executeTakeFirst()
    if (!inserted) return undefined
    const beyond = db
      .selectFrom('renditions')
      .select('id')
      .where('object_name', '=', file.objectName)
      .orderBy('used_at', 'desc')
      .orderBy('id', 'desc')
      .limit(Number.MAX_SAFE_INTEGER)
      .offset(limit)
    const forgotten = await db
      .deleteFrom('renditions')
      .where('id', 'in', beyond)
      .returning(['name', 'location_id as locationId', 'size_bytes as sizeBytes'])
      .execute()
    return { id: inserted.id, forgotten }
  })
}

/** Of several concurrent callers only one gets the rendition. */
export async function deleteRendition(db: StorageDb, id: number): Promise<Leaving | undefined> {
  return db
    .deleteFrom('renditions')
    .where('id', '=', id)
    .returning(['name', 'location_id as locationId', 'size_bytes as sizeBytes'])
    .executeTakeFirst()
}

/** Forgets those of a few renditions, the longest unused first, that it takes to free this many bytes. */
export async function deleteLeastUsed(db: StorageDb, excessBytes: number): Promise<Leaving[]> {
  const oldest = await db
    .selectFrom('renditions')
    .select(['id', 'size_bytes'])
    .orderBy('used_at')
    .orderBy('id')
    .limit(DELETED_AT_ONCE)
    .execute()
  let freed = 0
  const ids = oldest.flatMap(({ id, size_bytes }) => {
    if (freed >= excessBytes) return []
    freed += size_bytes
    return [id]
  })
  if (ids.length === 0) return []
  return db
    .deleteFrom('renditions')
    .where('id', 'in', ids)
    .returning(['name', 'location_id as locationId', 'size_bytes as sizeBytes'])
    .execute()
}

export async function sumRenditions(db: StorageDb): Promise<number> {
  const { bytes } = await db
    .selectFrom('renditions')
    .select(sql<number | string | null>`sum(size_bytes)`.as('bytes'))
    .executeTakeFirstOrThrow()
  return Number(bytes ?? 0)
}

const used = prepared((db: StorageDb, { id, usedAt }: { id: number; usedAt: string }) =>
  db.updateTable('renditions').set({ used_at: usedAt }).where('id', '=', id),
)

export async function updateUsed(db: StorageDb, uses: Map<number, string>): Promise<void> {
  // In the order of ids, so that two nodes that write the same ones never wait for each other.
  const inOrder = [...uses].sort(([one], [other]) => one - other)
  await inTransaction(db, async (transaction) => {
    for (const [id, usedAt] of inOrder) await used(transaction, { id, usedAt })
  })
}

export function listRenditions(db: StorageDb, objectName: string): Promise<Leaving[]> {
  return db
    .selectFrom('renditions')
    .select(['name', 'location_id as locationId', 'size_bytes as sizeBytes'])
    .where('object_name', '=', objectName)
    .execute()
}

/** Forgets a picture and its renditions. */
export async function deletePicture(db: StorageDb, objectName: string): Promise<void> {
  await db.deleteFrom('pictures').where('object_name', '=', objectName).execute()
}

/** Forgets what is known of pictures, those that cannot be drawn too, unless renditions of them are kept. */
export async function deleteFacts(db: StorageDb): Promise<void> {
  await db
    .deleteFrom('pictures')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('renditions')
            .select('renditions.id')
            .whereRef('renditions.object_name', '=', 'pictures.object_name'),
        ),
      ),
    )
    .execute()
}

/** Those of these names that are recorded. */
export async function findRecorded(db: StorageDb, names: string[]): Promise<Set<string>> {
  if (names.length === 0) return new Set()
  const rows = await db.selectFrom('renditions').select('name').where('name', 'in', names).execute()
  return new Set(rows.map(({ name }) => name))
}

/** Objects that files no longer have, from a page of those known here. */
export async function listStale(
  db: StorageDb,
  { after, limit }: { after: string; limit: number },
): Promise<{ stale: { objectName: string }[]; last: string | undefined }> {
  const rows = await db
    .selectFrom('pictures')
    .leftJoin('files', 'files.object_name', 'pictures.object_name')
    .select(['pictures.object_name as objectName', 'files.id as fileId'])
    .where('pictures.object_name', '>', after)
    .orderBy('pictures.object_name')
    .limit(limit)
    .execute()
  return {
    stale: rows.filter(({ fileId }) => fileId === null),
    last: rows.length < limit ? undefined : rows.at(-1)?.objectName,
  }
}
