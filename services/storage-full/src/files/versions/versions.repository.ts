import { forUpdate, fromRow, toRow } from '@plinth/kit/database'
import { type NotNull, type Selectable, sql } from 'kysely'
import type { StorageDb, StorageTables, VersionState } from '../../database/tables.ts'
import { findFile } from '../files.repository.ts'
import type { Content, ObjectAddress, StoredFile } from '../storage.ts'

/** Content that a file had before it was replaced. */
export type Version = Omit<Content, 'crc32'> & {
  id: number
  fileId: number
  ownerId: string
  version: number
  state: VersionState
  /** When this content was stored. */
  createdAt: string
  /** Those of the file. */
  contentType: string
  extension: string
}

/** No other transaction can replace, hide or delete the file before this one ends. */
export async function lockStored(db: StorageDb, id: number): Promise<StoredFile | undefined> {
  const row = db.selectFrom('files').select('id').where('id', '=', id).where('state', '=', 'stored')
  const locked = await forUpdate(db, row).executeTakeFirst()
  return locked && findFile(db, id)
}

/** What was made of the old content goes with it. The file must be locked. */
export async function updateContent(
  db: StorageDb,
  file: StoredFile,
  { location, objectName, sizeBytes, checksumSha256, crc32 }: Content,
  now: Date,
): Promise<StoredFile> {
  const change = {
    objectName,
    sizeBytes,
    checksumSha256,
    crc32,
    version: file.version + 1,
    replacedAt: now.toISOString(),
    updatedAt: now.toISOString(),
    thumbnail: 'none' as const,
  }
  await db
    .updateTable('files')
    .set({
      location_id: location.id,
      object_name: objectName,
      size_bytes: sizeBytes,
      checksum_sha256: checksumSha256,
      crc32,
      version: change.version,
      replaced_at: change.replacedAt,
      thumbnail: change.thumbnail,
      updated_at: change.updatedAt,
    })
    .where('id', '=', file.id)
    .execute()
  return { ...file, ...change, location }
}

type NewRow = Omit<Selectable<StorageTables['file_versions']>, 'id'>

/** Remembers the content of a file that is being replaced. */
export async function insertVersion(
  db: StorageDb,
  file: StoredFile,
  state: VersionState,
): Promise<void> {
  const { id: fileId, ownerId, version, sizeBytes, checksumSha256, location, objectName } = file
  const row = toRow<NewRow>({
    ...{ fileId, ownerId, version, sizeBytes, checksumSha256, objectName, state },
    locationId: location.id,
    createdAt: file.replacedAt ?? file.createdAt,
  })
  await db.insertInto('file_versions').values(row).execute()
}

type VersionFilter = {
  fileId?: number
  version?: number
  state?: VersionState
  /** Only those at other locations. */
  notAt?: number
  afterId?: number
  limit?: number
}

/** Oldest first. */
export async function listVersions(db: StorageDb, filter: VersionFilter): Promise<Version[]> {
  const { fileId, version, state, notAt, afterId, limit } = filter
  const rows = await selectVersions(db)
    .$if(fileId !== undefined, (some) => some.where('file_id', '=', fileId ?? 0))
    .$if(version !== undefined, (some) => some.where('file_versions.version', '=', version ?? 0))
    .$if(state !== undefined, (some) => some.where('file_versions.state', '=', state ?? 'kept'))
    .$if(notAt !== undefined, (some) => some.where('file_versions.location_id', '!=', notAt ?? 0))
    .$if(afterId !== undefined, (some) => some.where('file_versions.id', '>', afterId ?? 0))
    .orderBy('file_versions.id')
    .$if(limit !== undefined, (some) => some.limit(limit ?? 0))
    .execute()
  return rows.map(versionOf)
}

/** Those that must be kept: not the ones of a file that is being deleted. */
export async function listKeptAfter(
  db: StorageDb,
  filter: Required<Pick<VersionFilter, 'afterId' | 'limit'>> & Pick<VersionFilter, 'notAt'>,
): Promise<Version[]> {
  const { afterId, limit, notAt } = filter
  const rows = await selectVersions(db)
    .where('file_versions.state', '=', 'kept')
    .where('files.state', '!=', 'deleting')
    .where('file_versions.id', '>', afterId)
    .$if(notAt !== undefined, (some) => some.where('file_versions.location_id', '!=', notAt ?? 0))
    .orderBy('file_versions.id')
    .limit(limit)
    .execute()
  return rows.map(versionOf)
}

export async function findVersion(db: StorageDb, id: number): Promise<Version | undefined> {
  const row = await selectVersions(db).where('file_versions.id', '=', id).executeTakeFirst()
  return row && versionOf(row)
}

/** After this they cannot be restored. The file must be locked. */
export async function markLeaving(db: StorageDb, versions: Pick<Version, 'id'>[]): Promise<void> {
  if (versions.length === 0) return
  const ids = versions.map(({ id }) => id)
  await db.updateTable('file_versions').set({ state: 'deleting' }).where('id', 'in', ids).execute()
}

export async function deleteVersionRow(db: StorageDb, id: number): Promise<void> {
  await db
    .deleteFrom('file_versions')
    .where('id', '=', id)
    .where('state', '=', 'deleting')
    .execute()
}

/** The move takes effect here. False when the version was removed or moved meanwhile. */
export async function updateVersionLocation(
  db: StorageDb,
  { id, objectName }: Version,
  target: ObjectAddress,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('file_versions')
    .set({ location_id: target.location.id, object_name: target.objectName })
    .where('id', '=', id)
    .where('object_name', '=', objectName)
    .where('state', '=', 'kept')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Stored files that have more versions than may be kept. */
export async function listFilesWithMore(
  db: StorageDb,
  versions: number,
  limit: number,
): Promise<number[]> {
  const rows = await db
    .selectFrom('file_versions')
    .innerJoin('files', 'files.id', 'file_id')
    .select('file_id')
    .where('file_versions.state', '=', 'kept')
    .where('files.state', '=', 'stored')
    .groupBy('file_id')
    .having(sql<number>`count(*)`, '>', versions)
    .limit(limit)
    .execute()
  return rows.map(({ file_id }) => file_id)
}

function selectVersions(db: StorageDb) {
  return db
    .selectFrom('file_versions')
    .innerJoin('files', 'files.id', 'file_versions.file_id')
    .leftJoin('storage_locations', 'storage_locations.id', 'file_versions.location_id')
    .selectAll('file_versions')
    .select(['content_type', 'extension', 'provider', 'prefix', 'sealed_settings'])
    .$narrowType<{ provider: NotNull; prefix: NotNull; sealed_settings: NotNull }>()
}

type JoinedRow = Awaited<ReturnType<ReturnType<typeof selectVersions>['execute']>>[number]

function versionOf(row: JoinedRow): Version {
  const { locationId, provider, prefix, sealedSettings, ...version } = fromRow(row)
  return { ...version, location: { id: locationId, provider, prefix, sealedSettings } }
}
