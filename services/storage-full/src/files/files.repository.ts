import { fromRow, inTransaction } from '@plinth/kit'
import type { NotNull, Updateable } from 'kysely'
import type { FileState, StorageDb, StorageTables, ThumbnailState } from '../database/tables.ts'
import type { ObjectAddress, StoredFile } from './storage.ts'
import { subtractUsage } from './usage/usage.repository.ts'

export async function findFile(db: StorageDb, id: number): Promise<StoredFile | undefined> {
  const row = await selectFiles(db).where('files.id', '=', id).executeTakeFirst()
  return row && fileOf(row)
}

type ListQuery = { ownerId: string | undefined; newestId: number; limit: number }

/** Newest first. */
export async function listFiles(db: StorageDb, query: ListQuery): Promise<StoredFile[]> {
  const { ownerId, newestId, limit } = query
  const rows = await selectFiles(db)
    .where('files.state', '=', 'stored')
    .where('files.id', '<=', newestId)
    .$if(ownerId !== undefined, (files) => files.where('files.owner_id', '=', ownerId ?? ''))
    .orderBy('files.id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(fileOf)
}

/** The file that comes after `offset` newer ones. An index alone answers: no row is read. */
export async function findIdAfter(
  db: StorageDb,
  ownerId: string | undefined,
  offset: number,
): Promise<number | undefined> {
  const row = await db
    .selectFrom('files')
    .select('id')
    .where('state', '=', 'stored')
    .$if(ownerId !== undefined, (files) => files.where('owner_id', '=', ownerId ?? ''))
    .orderBy('id', 'desc')
    .offset(offset)
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

export type FileFilter = { state: FileState; notAt?: number }

/** Oldest first, for work that visits every file. */
export async function listFilesAfter(
  db: StorageDb,
  { state, notAt, afterId, limit }: FileFilter & { afterId: number; limit: number },
): Promise<StoredFile[]> {
  const rows = await selectFiles(db)
    .where('files.state', '=', state)
    .where('files.id', '>', afterId)
    .$if(notAt !== undefined, (files) => files.where('files.location_id', '!=', notAt ?? 0))
    .orderBy('files.id')
    .limit(limit)
    .execute()
  return rows.map(fileOf)
}

/** Of these names, the ones that belong to a file at this location. */
export async function findObjectNames(
  db: StorageDb,
  locationId: number,
  names: string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set()
  const rows = await db
    .selectFrom('files')
    .select('object_name')
    .where('location_id', '=', locationId)
    .where('object_name', 'in', names)
    .execute()
  return new Set(rows.map((row) => row.object_name))
}

/**
 * Hides the file; the caller, or the next run after a crash, then removes its bytes. Returns the
 * file as it is now, for a move may just have changed its location. Of several callers one gets it.
 */
export async function markDeleting(db: StorageDb, id: number): Promise<StoredFile | undefined> {
  return inTransaction(db, async (transaction) => {
    const marked = await transaction
      .updateTable('files')
      .set({ state: 'deleting' })
      .where('id', '=', id)
      .where('state', '=', 'stored')
      .returning(['owner_id', 'size_bytes'])
      .executeTakeFirst()
    if (!marked) return undefined
    const file = await findFile(transaction, id)
    await subtractUsage(transaction, marked.owner_id, { files: 1, bytes: marked.size_bytes })
    return file
  })
}

export async function deleteFileRow(db: StorageDb, id: number): Promise<void> {
  await db.deleteFrom('files').where('id', '=', id).where('state', '=', 'deleting').execute()
}

/** False when the file was deleted or moved meanwhile: then nothing has changed. */
export function updateThumbnail(
  db: StorageDb,
  file: StoredFile,
  thumbnail: ThumbnailState,
): Promise<boolean> {
  return updateUnmoved(db, file, { thumbnail })
}

/** The moment a move takes effect. False when the file was deleted or moved meanwhile. */
export function updateLocation(
  db: StorageDb,
  file: StoredFile,
  { location, objectName }: ObjectAddress,
): Promise<boolean> {
  const thumbnail = file.thumbnail === 'kept' ? 'none' : file.thumbnail
  return updateUnmoved(db, file, { location_id: location.id, object_name: objectName, thumbnail })
}

async function updateUnmoved(
  db: StorageDb,
  file: StoredFile,
  change: Updateable<StorageTables['files']>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('files')
    .set(change)
    .where('id', '=', file.id)
    .where('state', '=', 'stored')
    .where('object_name', '=', file.objectName)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

type FileRow = Awaited<ReturnType<ReturnType<typeof selectFiles>['execute']>>[number]

function selectFiles(db: StorageDb) {
  return (
    db
      .selectFrom('files')
      // A left join, though every file has a location: it makes the files lead, in index order.
      .leftJoin('storage_locations', 'storage_locations.id', 'files.location_id')
      .selectAll('files')
      .select(['provider', 'prefix', 'sealed_settings'])
      .$narrowType<{ provider: NotNull; prefix: NotNull; sealed_settings: NotNull }>()
  )
}

function fileOf(row: FileRow): StoredFile {
  const { locationId, provider, prefix, sealedSettings, ...file } = fromRow(row)
  return { ...file, location: { id: locationId, provider, prefix, sealedSettings } }
}
