import { engineOf, fromRow, inTransaction, type PageRequest, toRow } from '@plinth/kit/database'
import { type Selectable, sql } from 'kysely'
import type { StorageDb, StorageTables } from '../../database/tables.ts'
import { fileOf, findFile, selectFiles, WEIGHT } from '../files.repository.ts'
import type { StoredFile } from '../storage.ts'
import { deleteWords, hasTerm } from '../words.repository.ts'

export async function deleteFileRow(db: StorageDb, id: number): Promise<void> {
  await inTransaction(db, async (inside) => {
    const deleted = await inside
      .deleteFrom('files')
      .where('id', '=', id)
      .where('state', '=', 'deleting')
      .returning(['owner_id as ownerId', 'words'])
      .executeTakeFirst()
    if (deleted) await deleteWords(inside, { id, ...deleted })
  })
}

export type RestorableTime = { deletedBy: string; deletedAt: string; restorableUntil: string }

export type RestorableFile = StoredFile & RestorableTime

type RestorableRow = Selectable<StorageTables['restorable_files']>

export async function insertRestorable(
  db: StorageDb,
  fileId: number,
  time: RestorableTime,
): Promise<void> {
  const row = toRow<RestorableRow>({ fileId, ...time })
  await db.insertInto('restorable_files').values(row).execute()
}

export async function insertRestorableTogether(
  db: StorageDb,
  fileIds: number[],
  time: RestorableTime,
): Promise<void> {
  const rows = fileIds.map((fileId) => toRow<RestorableRow>({ fileId, ...time }))
  await db.insertInto('restorable_files').values(rows).execute()
}

function selectRestorable(db: StorageDb, now: Date) {
  return selectFiles(db)
    .innerJoin('restorable_files', 'restorable_files.file_id', 'files.id')
    .select(['deleted_by', 'deleted_at', 'restorable_until'])
    .where('files.state', '=', 'restorable')
    .where('restorable_until', '>', now.toISOString())
}

type FoundRow = Awaited<ReturnType<ReturnType<typeof selectRestorable>['execute']>>[number]

function restorableOf({ deleted_by, deleted_at, restorable_until, ...row }: FoundRow) {
  return { ...fileOf(row), ...fromRow({ deleted_by, deleted_at, restorable_until }) }
}

export async function findRestorable(
  db: StorageDb,
  id: number,
  now: Date,
): Promise<RestorableFile | undefined> {
  const row = await selectRestorable(db, now).where('files.id', '=', id).executeTakeFirst()
  return row && restorableOf(row)
}

type RestorableFilter = {
  /** Only files of this owner. */
  ownerId?: string | undefined
  /** Only files that this caller has deleted. */
  deletedBy?: string | undefined
  /** Only files whose names have words that begin with each of these. */
  words?: string[]
  /** Only files from the folder with this path. */
  folder?: string | undefined
}

/** Most recently deleted first: which they are, and how heavy. */
export async function listRestorable(
  db: StorageDb,
  filter: RestorableFilter,
  { now, page }: { now: Date; page: PageRequest },
): Promise<{ places: { id: number; weight: number }[]; total: number }> {
  const { ownerId, deletedBy, words = [], folder } = filter
  const hasWord = (word: string) => hasTerm(db, sql.ref('files.words'), { word, isWhole: false })
  const found = selectRestorable(db, now)
    .$if(ownerId !== undefined, (files) => files.where('files.owner_id', '=', ownerId ?? ''))
    .$if(deletedBy !== undefined, (files) => files.where('deleted_by', '=', deletedBy ?? ''))
    .$if(folder !== undefined, (files) =>
      files.where(sql<string>`coalesce(folders.path, former_folder, '/')`, '=', folder ?? ''),
    )
    .where(({ and }) => and(words.map(hasWord)))
  const places = await found
    .clearSelect()
    .select(['files.id', WEIGHT])
    .orderBy('deleted_at', 'desc')
    .orderBy('files.id', 'desc')
    .limit(page.size)
    .offset(page.offset)
    .execute()
  const counted = await found
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { places, total: Number(counted.total) }
}

/** In the order of the ids; without those that cannot be restored any more. */
export async function listRestorableByIds(
  db: StorageDb,
  ids: number[],
  now: Date,
): Promise<RestorableFile[]> {
  const rows = await selectRestorable(db, now).where('files.id', 'in', ids).execute()
  const files = new Map(rows.map((row) => [row.id, restorableOf(row)]))
  return ids.flatMap((id) => files.get(id) ?? [])
}

/** Makes the file visible again. Of several concurrent callers only one gets it; none once it has expired. */
export async function claimRestorable(
  db: StorageDb,
  id: number,
  now: Date,
): Promise<StoredFile | undefined> {
  const { numUpdatedRows } = await db
    .updateTable('files')
    .set({ state: 'stored' })
    .where('id', '=', id)
    .where('state', '=', 'restorable')
    .where((file) =>
      file.exists(
        file
          .selectFrom('restorable_files')
          .select('file_id')
          .where('file_id', '=', id)
          .where('restorable_until', '>', now.toISOString()),
      ),
    )
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return undefined
  await db.deleteFrom('restorable_files').where('file_id', '=', id).execute()
  return findFile(db, id)
}

/** Back where it was, in a folder that was made again. */
export async function updateFormerFolder(
  db: StorageDb,
  id: number,
  folderId: number | null,
): Promise<StoredFile | undefined> {
  const change = { folder_id: folderId, former_folder: null }
  await db.updateTable('files').set(change).where('id', '=', id).execute()
  return findFile(db, id)
}

/** After this the file cannot be restored. */
export async function claimForRemoval(db: StorageDb, id: number): Promise<StoredFile | undefined> {
  const { numUpdatedRows } = await db
    .updateTable('files')
    .set({ state: 'deleting' })
    .where('id', '=', id)
    .where('state', '=', 'restorable')
    .executeTakeFirst()
  return numUpdatedRows > 0n ? findFile(db, id) : undefined
}

/** Which files leave the trash: those that meet all of these. */
export type Leaving = {
  ownerId?: string | undefined
  deletedBy?: string | undefined
  /** They could be restored until then. */
  until?: Date
  deletedBefore?: Date
  ids?: number[]
}

/**
 * Marks at most `limit` files in the trash for deletion, and returns them with the bytes of all their versions. Files
 * that are restored or marked at the same time are passed over, so that none returned means none left. Only `files` is
 * locked, and by id: a restore locks it before `restorable_files`. Call it in a transaction.
 */
export async function claimLeaving(
  db: StorageDb,
  { ownerId, deletedBy, until, deletedBefore, ids: wanted }: Leaving,
  limit: number,
): Promise<(StoredFile & { versionBytes: number })[]> {
  const conditions = [
    ['trashed.owner_id', '=', ownerId],
    ['deleted_by', '=', deletedBy],
    ['restorable_until', '<=', until?.toISOString()],
    ['deleted_at', '<=', deletedBefore?.toISOString()],
  ] as const
  const leaving = db
    .selectFrom('restorable_files')
    .innerJoin('files as trashed', 'trashed.id', 'file_id')
    .select('file_id')
    .where('trashed.state', '=', 'restorable')
    .where((row) =>
      row.and([
        ...conditions.flatMap(([column, operator, value]) =>
          value === undefined ? [] : [row(column, operator, value)],
        ),
        ...(wanted === undefined ? [] : [row('file_id', 'in', wanted)]),
      ]),
    )
    .orderBy('file_id')
    .limit(limit)
  const locked = engineOf(db) === 'postgres' ? leaving.forUpdate('trashed') : leaving
  const ids = (await locked.execute()).map(({ file_id }) => file_id)
  if (ids.length === 0) return []
  await db.updateTable('files').set({ state: 'deleting' }).where('id', 'in', ids).execute()
  const rows = await selectFiles(db).where('files.id', 'in', ids).execute()
  const files = rows.map(fileOf)
  const versions = await versionBytesOf(db, ids)
  return files.map((file) => ({ ...file, versionBytes: versions.get(file.id) ?? 0 }))
}

async function versionBytesOf(db: StorageDb, ids: number[]): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom('file_versions')
    .select(({ fn }) => ['file_id', fn.sum<number>('size_bytes').as('bytes')])
    .where('file_id', 'in', ids)
    .where('state', '=', 'kept')
    .groupBy('file_id')
    .execute()
  return new Map(rows.map(({ file_id, bytes }) => [file_id, Number(bytes)]))
}

/** Owners who have deleted files since then; without it, all who have files in the trash. */
export async function listTrashOwners(db: StorageDb, since: Date | undefined): Promise<string[]> {
  const rows = await db
    .selectFrom('restorable_files')
    .innerJoin('files', 'files.id', 'file_id')
    .select('owner_id')
    .distinct()
    .where('files.state', '=', 'restorable')
    .$if(since !== undefined, (some) => some.where('deleted_at', '>=', since?.toISOString() ?? ''))
    .execute()
  return rows.map(({ owner_id }) => owner_id)
}

export type TrashCap = { files: number | undefined; bytes: number | undefined }

/** The files in the trash of an owner beyond what may be there, the oldest ones: at most `limit`. */
export async function listBeyondCap(
  db: StorageDb,
  ownerId: string,
  { files, bytes }: TrashCap,
  limit: number,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`select id from (
      select files.id, row_number() over newest as place,
        sum(size_bytes + coalesce((select sum(kept.size_bytes) from file_versions kept
          where kept.file_id = files.id and kept.state = 'kept'), 0)) over newest as bytes
      from files join restorable_files on files.id = file_id
      where owner_id = ${ownerId} and state = 'restorable'
      window newest as (order by deleted_at desc, files.id desc)
    ) kept
    where place > ${files ?? Number.MAX_SAFE_INTEGER} or bytes > ${bytes ?? Number.MAX_SAFE_INTEGER}
    limit ${sql.lit(limit)}`.execute(db)
  return rows.map(({ id }) => Number(id))
}

function inTrash(db: StorageDb, { ownerId, deletedBy }: RestorableFilter, now: Date) {
  return db
    .selectFrom('files')
    .innerJoin('restorable_files', 'restorable_files.file_id', 'files.id')
    .where('files.state', '=', 'restorable')
    .where('restorable_until', '>', now.toISOString())
    .$if(ownerId !== undefined, (some) => some.where('files.owner_id', '=', ownerId ?? ''))
    .$if(deletedBy !== undefined, (some) => some.where('deleted_by', '=', deletedBy ?? ''))
}

/** The query for how many files are in the trash, and their bytes. */
export function trashedFiles(db: StorageDb, filter: RestorableFilter, now: Date) {
  return inTrash(db, filter, now).select(({ fn }) => [
    fn.countAll<number>().as('files'),
    fn.sum<number | null>('files.size_bytes').as('bytes'),
  ])
}

/** The query for the bytes of their earlier versions. */
export function trashedVersions(db: StorageDb, filter: RestorableFilter, now: Date) {
  return inTrash(db, filter, now)
    .innerJoin('file_versions', 'file_versions.file_id', 'files.id')
    .where('file_versions.state', '=', 'kept')
    .select(({ fn }) => fn.sum<number | null>('file_versions.size_bytes').as('bytes'))
}

/** What is in the trash of everyone, with the bytes of versions. */
export async function sumTrashBytes(db: StorageDb, now: Date): Promise<number> {
  const files = await trashedFiles(db, {}, now).executeTakeFirstOrThrow()
  const versions = await trashedVersions(db, {}, now).executeTakeFirstOrThrow()
  return Number(files.bytes ?? 0) + Number(versions.bytes ?? 0)
}
