import { inTransaction, type PageRequest, prepared } from '@plinth/kit/database'
import { type NotNull, sql, type Updateable } from 'kysely'
import type { FileState, StorageDb, StorageTables, ThumbnailState } from '../database/tables.ts'
import type { ObjectAddress, StoredFile } from './storage.ts'
import { subtractUsage, sumVersionsOf } from './usage/usage.repository.ts'

const fileById = prepared((db: StorageDb, { id }: { id: number }) =>
  selectFiles(db).where('files.id', '=', id),
)

export async function findFile(db: StorageDb, id: number): Promise<StoredFile | undefined> {
  const [row] = await fileById(db, { id })
  return row && fileOf(row)
}

/** One of these files at each location that has any. */
export async function findOnePerLocation(db: StorageDb, ids: number[]): Promise<StoredFile[]> {
  const rows = await selectFiles(db)
    .where('files.id', 'in', (file) =>
      file
        .selectFrom('files')
        .select(({ fn }) => fn.min('files.id').as('id'))
        .where('files.id', 'in', ids)
        .groupBy('files.location_id'),
    )
    .execute()
  return rows.map(fileOf)
}

const enabledById = prepared((db: StorageDb, { id }: { id: number }) =>
  db.selectFrom('users').select('enabled').where('id', '=', id),
)

export async function isEnabledUser(db: StorageDb, id: number): Promise<boolean> {
  const [user] = await enabledById(db, { id })
  return user?.enabled === 1
}

/** In bytes, what may be long in a file: the rest of its row is a hundred times shorter. */
export const WEIGHT =
  sql<number>`coalesce(octet_length(tags), 0) + coalesce(octet_length(metadata), 0)`.as('weight')

/** How heavy these files are, in the order of the ids; 0 for one that is gone. */
export async function weighFiles(db: StorageDb, ids: number[]): Promise<number[]> {
  if (ids.length === 0) return []
  const rows = await db.selectFrom('files').select(['id', WEIGHT]).where('id', 'in', ids).execute()
  const weights = new Map(rows.map(({ id, weight }) => [id, weight]))
  return ids.map((id) => weights.get(id) ?? 0)
}

export type ListQuery = { ownerId: string | undefined; newestId: number; limit: number }

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

/** How heavy these files are. */
export async function weighListed(db: StorageDb, query: ListQuery): Promise<number[]> {
  const { ownerId, newestId, limit } = query
  const rows = await db
    .selectFrom('files')
    .select(WEIGHT)
    .where('state', '=', 'stored')
    .where('id', '<=', newestId)
    .$if(ownerId !== undefined, (files) => files.where('owner_id', '=', ownerId ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ weight }) => weight)
}

/** The id of the file that comes after `offset` newer ones. An index alone answers this: no row is read. */
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

/** Files directly in the folder with this path, of one owner or of all; null is `/`. Newest first. */
export async function listInFolder(
  db: StorageDb,
  { ownerId, path }: { ownerId: string | undefined; path: string | null },
  page: PageRequest,
): Promise<{ files: StoredFile[]; total: number }> {
  const found = selectFiles(db)
    .where('files.state', '=', 'stored')
    .where('folders.path', path === null ? 'is' : '=', path)
    .$if(ownerId !== undefined, (files) => files.where('files.owner_id', '=', ownerId ?? ''))
  const rows = await found
    .orderBy('files.id', 'desc')
    .limit(page.size)
    .offset(page.offset)
    .execute()
  const { total } = await found
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { files: rows.map(fileOf), total: Number(total) }
}

/** Without a state: every file whose bytes must be kept, including restorable ones. */
export type FileFilter = { state?: FileState; notAt?: number }

/** Oldest first, for work that visits every file. */
export async function listFilesAfter(
  db: StorageDb,
  { state, notAt, afterId, limit }: FileFilter & { afterId: number; limit: number },
): Promise<StoredFile[]> {
  const rows = await selectFiles(db)
    .where('files.state', state ? '=' : '!=', state ?? 'deleting')
    .where('files.id', '>', afterId)
    .$if(notAt !== undefined, (files) => files.where('files.location_id', '!=', notAt ?? 0))
    .orderBy('files.id')
    .limit(limit)
    .execute()
  return rows.map(fileOf)
}

/** Those of `names` that belong to a file at this location, or to an earlier version of one. */
export async function findObjectNames(
  db: StorageDb,
  locationId: number,
  names: string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set()
  // One statement, because replacing a file turns its content into an earlier version.
  const rows = await db
    .selectFrom('files')
    .select('object_name')
    .where('location_id', '=', locationId)
    .where('object_name', 'in', names)
    .unionAll(
      db
        .selectFrom('file_versions')
        .select('object_name')
        .where('location_id', '=', locationId)
        .where('object_name', 'in', names),
    )
    .execute()
  return new Set(rows.map((row) => row.object_name))
}

/**
 * Hides the file and subtracts it from its owner's usage. Returns it as it is now, because a move may
 * just have changed its location. Of several concurrent callers only one gets it.
 */
export async function markHidden(
  db: StorageDb,
  id: number,
  state: Exclude<FileState, 'stored'>,
): Promise<StoredFile | undefined> {
  return inTransaction(db, async (transaction) => {
    const marked = await transaction
      .updateTable('files')
      .set({ state })
      .where('id', '=', id)
      .where('state', '=', 'stored')
      .returning(['owner_id', 'size_bytes', 'version'])
      .executeTakeFirst()
    if (!marked) return undefined
    const file = await findFile(transaction, id)
    const versionBytes = await sumVersionsOf(transaction, marked.version > 1 ? [id] : [])
    const bytes = marked.size_bytes + versionBytes
    await subtractUsage(transaction, marked.owner_id, { files: 1, bytes })
    return file
  })
}

/** Hides those of these files that are stored. Returns them as they are now, with what they occupied. */
export async function markHiddenTogether(
  db: StorageDb,
  ownerId: string,
  ids: number[],
): Promise<StoredFile[]> {
  const marked = await db
    .updateTable('files')
    .set({ state: 'restorable' })
    .where('id', 'in', ids)
    .where('owner_id', '=', ownerId)
    .where('state', '=', 'stored')
    .returning('id')
    .execute()
  if (marked.length === 0) return []
  const hidden = marked.map(({ id }) => id)
  const rows = await selectFiles(db).where('files.id', 'in', hidden).execute()
  return rows.map(fileOf)
}

/** Returns false, and changes nothing, when the file was deleted or moved in the meantime. */
export async function updateThumbnail(
  db: StorageDb,
  file: StoredFile,
  thumbnail: ThumbnailState,
): Promise<boolean> {
  const { numUpdatedRows } = await updateUnmoved(db, file, { thumbnail })
    .where('state', '=', 'stored')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The move takes effect here. Returns the file as it is now, or undefined if it was deleted or moved meanwhile. */
export async function updateLocation(
  db: StorageDb,
  file: StoredFile,
  { location, objectName }: ObjectAddress,
): Promise<StoredFile | undefined> {
  const thumbnail = file.thumbnail === 'kept' ? 'none' : file.thumbnail
  const change = { location_id: location.id, object_name: objectName, thumbnail }
  const { numUpdatedRows } = await updateUnmoved(db, file, change)
    .where('state', '!=', 'deleting')
    .executeTakeFirst()
  return numUpdatedRows > 0n ? findFile(db, file.id) : undefined
}

function updateUnmoved(
  db: StorageDb,
  file: StoredFile,
  change: Updateable<StorageTables['files']>,
) {
  return db
    .updateTable('files')
    .set(change)
    .where('id', '=', file.id)
    .where('object_name', '=', file.objectName)
}

type FileRow = Awaited<ReturnType<ReturnType<typeof selectFiles>['execute']>>[number]

/** For other repositories of this service. */
export function selectFiles(db: StorageDb) {
  return (
    db
      .selectFrom('files')
      // A left join, though every file has a location: the query then starts from files, in index order.
      .leftJoin('storage_locations', 'storage_locations.id', 'files.location_id')
      .leftJoin('folders', 'folders.id', 'files.folder_id')
      .selectAll('files')
      .select(['provider', 'prefix', 'sealed_settings', 'folders.path as folder'])
      .$narrowType<{ provider: NotNull; prefix: NotNull; sealed_settings: NotNull }>()
  )
}

/** Written out, because a list maps thousands of rows: taking a row apart by name took half the time of a list. */
export function fileOf(row: FileRow): StoredFile {
  return {
    id: row.id,
    ownerId: row.owner_id,
    ownerName: row.owner_name,
    originalFilename: row.original_filename,
    storedFilename: row.stored_filename,
    extension: row.extension,
    contentType: row.content_type,
    sizeBytes: row.size_bytes,
    checksumSha256: row.checksum_sha256,
    crc32: row.crc32,
    state: row.state,
    thumbnail: row.thumbnail,
    createdAt: row.created_at,
    version: row.version,
    replacedAt: row.replaced_at,
    location: {
      id: row.location_id,
      provider: row.provider,
      prefix: row.prefix,
      sealedSettings: row.sealed_settings,
    },
    objectName: row.object_name,
    folderId: row.folder_id,
    folder: row.folder ?? '/',
    formerFolder: row.former_folder,
    tags: row.tags === null ? [] : JSON.parse(row.tags),
    metadata: row.metadata === null ? {} : JSON.parse(row.metadata),
    updatedAt: row.updated_at ?? row.created_at,
  }
}
