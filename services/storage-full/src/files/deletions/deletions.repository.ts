import { fromRow, inTransaction, type PageRequest, toRow } from '@plinth/kit/database'
import { type Selectable, sql } from 'kysely'
import type { StorageDb, StorageTables } from '../../database/tables.ts'
import { fileOf, findFile, selectFiles } from '../files.repository.ts'
import type { Storage, StoredFile } from '../storage.ts'
import { deleteWords } from '../words.repository.ts'

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

/** `ownerId`: only files of this owner; `deletedBy`: only files that this caller has deleted. */
export type RestorableFilter = { ownerId?: string | undefined; deletedBy?: string | undefined }

/** Most recently deleted first. */
export async function listRestorable(
  db: StorageDb,
  filter: RestorableFilter,
  { now, page }: { now: Date; page: PageRequest },
): Promise<{ files: RestorableFile[]; total: number }> {
  const { ownerId, deletedBy } = filter
  const found = selectRestorable(db, now)
    .$if(ownerId !== undefined, (files) => files.where('files.owner_id', '=', ownerId ?? ''))
    .$if(deletedBy !== undefined, (files) => files.where('deleted_by', '=', deletedBy ?? ''))
  const rows = await found
    .orderBy('deleted_at', 'desc')
    .orderBy('files.id', 'desc')
    .limit(page.size)
    .offset(page.offset)
    .execute()
  const counted = await found
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { files: rows.map(restorableOf), total: Number(counted.total) }
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

/** Marks at most `limit` expired files for deletion; returns how many it marked. */
export async function updateExpired(db: StorageDb, now: Date, limit: number): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('files')
    .set({ state: 'deleting' })
    .where('state', '=', 'restorable')
    .where('id', 'in', (file) =>
      file
        .selectFrom('restorable_files')
        .innerJoin('files as expired', 'expired.id', 'file_id')
        .select('file_id')
        .where('restorable_until', '<=', now.toISOString())
        .where('expired.state', '=', 'restorable')
        .limit(limit),
    )
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Keeps only the last deleted files of each owner restorable, up to the quota; marks the others for deletion. */
export async function updateBeyondQuota(
  db: StorageDb,
  { files, bytes }: Storage['limits']['quota'],
): Promise<void> {
  if (files === undefined && bytes === undefined) return
  await sql`update files set state = 'deleting' where state = 'restorable' and id in (
    select id from (
      select files.id, row_number() over newest as place, sum(size_bytes) over newest as bytes
      from restorable_files join files on files.id = file_id
      where state = 'restorable'
      window newest as (partition by owner_id order by deleted_at desc, files.id desc)
    ) kept
    where place > ${files ?? Number.MAX_SAFE_INTEGER} or bytes > ${bytes ?? Number.MAX_SAFE_INTEGER}
  )`.execute(db)
}
