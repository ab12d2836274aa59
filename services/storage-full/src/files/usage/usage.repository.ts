import { engineOf, type PageRequest, prepared } from '@plinth/kit/database'
import { sql } from 'kysely'
import type { StorageDb } from '../../database/tables.ts'

/** What an owner has stored, or a change to it. */
export type Usage = { files: number; bytes: number }

/** The most an owner may have stored; undefined means no limit. */
export type Quota = { files: number | undefined; bytes: number | undefined }

export const NO_LIMIT = Number.MAX_SAFE_INTEGER

type Change = {
  owner_id: string
  total: number
  bytes: number
  mostFiles: number
  mostBytes: number
}

const add = prepared((db: StorageDb, { mostFiles, mostBytes, ...change }: Change) =>
  db
    .insertInto('file_totals')
    .values(change)
    .onConflict((conflict) =>
      conflict
        .column('owner_id')
        .doUpdateSet((row) => ({
          total: row('file_totals.total', '+', row.ref('excluded.total')),
          bytes: row('file_totals.bytes', '+', row.ref('excluded.bytes')),
        }))
        .where((row) =>
          row.and([
            row(row('file_totals.total', '+', row.ref('excluded.total')), '<=', mostFiles),
            row(row('file_totals.bytes', '+', row.ref('excluded.bytes')), '<=', mostBytes),
          ]),
        ),
    )
    .returning('total'),
)

/**
 * On PostgreSQL the total of an owner is the sum of several rows that take turns. A row stays locked until
 * the commit has reached the disk, so with a single row the uploads of one owner would wait for each other.
 */
export const PARTS = 16

let turn = Math.floor(Math.random() * PARTS)

export function nextPart(): number {
  turn = (turn + 1) % PARTS
  return turn
}

type Part = { owner_id: string; part: number; total: number; bytes: number }

const addToPart = prepared((db: StorageDb, part: Part) =>
  db
    .insertInto('file_total_parts')
    .values(part)
    .onConflict((conflict) =>
      conflict.columns(['owner_id', 'part']).doUpdateSet((row) => ({
        total: row('file_total_parts.total', '+', row.ref('excluded.total')),
        bytes: row('file_total_parts.bytes', '+', row.ref('excluded.bytes')),
      })),
    ),
)

/** Call it late in a transaction, because it locks a row until the commit. */
export async function subtractUsage(
  db: StorageDb,
  ownerId: string,
  { files, bytes }: Usage,
): Promise<void> {
  const change = { owner_id: ownerId, total: -files, bytes: -bytes }
  if (engineOf(db) === 'postgres') await addToPart(db, { ...change, part: nextPart() })
  else await add(db, { ...change, mostFiles: NO_LIMIT, mostBytes: NO_LIMIT })
}

/** SQLite only. Returns false, and counts nothing, when the owner would exceed the quota. */
export async function addUsage(
  db: StorageDb,
  ownerId: string,
  { files, bytes }: Usage,
  { files: mostFiles = NO_LIMIT, bytes: mostBytes = NO_LIMIT }: Quota,
): Promise<boolean> {
  if (bytes > mostBytes) return false
  const change = { owner_id: ownerId, total: files, bytes, mostFiles, mostBytes }
  return (await add(db, change)).length > 0
}

export async function sumBytes(db: StorageDb): Promise<number> {
  const row = await db
    .selectFrom('owner_usage')
    .select(({ fn }) => fn.sum<number>('bytes').as('bytes'))
    .executeTakeFirst()
  return Number(row?.bytes ?? 0)
}

export async function countFiles(db: StorageDb, ownerId?: string): Promise<number> {
  const row = await db
    .selectFrom('owner_usage')
    .select((count) => count.fn.sum<number>('total').as('total'))
    .$if(ownerId !== undefined, (totals) => totals.where('owner_id', '=', ownerId ?? ''))
    .executeTakeFirst()
  return Number(row?.total ?? 0)
}

/** The query for what an owner has stored, which has no row if that is nothing yet. */
export function usageRow(db: StorageDb, ownerId: string) {
  return db
    .selectFrom('owner_usage')
    .select(['total as files', 'bytes'])
    .where('owner_id', '=', ownerId)
}

/** The query for what unfinished uploads of an owner reserve. */
export function reservedRow(db: StorageDb, ownerId: string) {
  return db
    .selectFrom('uploads')
    .select(({ fn }) => [
      // One that replaces a file needs no room for another.
      sql<number>`count(*) - count(replaces)`.as('files'),
      fn.sum<number | null>('length').as('bytes'),
    ])
    .where(sql<string>`coalesce(quota_owner_id, owner_id)`, '=', ownerId)
    .where('state', '=', 'receiving')
}

/** The query for the bytes of the earlier versions of stored files. */
export function versionsRow(db: StorageDb, ownerId?: string) {
  return db
    .selectFrom('file_versions')
    .innerJoin('files', 'files.id', 'file_versions.file_id')
    .select(({ fn }) => fn.sum<number | null>('file_versions.size_bytes').as('bytes'))
    .where('file_versions.state', '=', 'kept')
    .where('files.state', '=', 'stored')
    .$if(ownerId !== undefined, (kept) => kept.where('file_versions.owner_id', '=', ownerId ?? ''))
}

/** Of the earlier versions of stored files. */
export async function sumVersions(db: StorageDb): Promise<number> {
  const row = await versionsRow(db).executeTakeFirstOrThrow()
  return Number(row.bytes ?? 0)
}

/** What counts in the quota of an owner: also what unfinished uploads reserve, and the bytes of earlier versions. */
export async function findTaken(db: StorageDb, ownerId: string): Promise<Usage> {
  const totals = db
    .selectFrom('file_totals')
    .select(['total', 'bytes'])
    .where('owner_id', '=', ownerId)
  const parts = db
    .selectFrom('file_total_parts')
    .select(['total', 'bytes'])
    .where('owner_id', '=', ownerId)
  const all = engineOf(db) === 'postgres' ? totals.unionAll(parts) : totals
  const row = await db
    .selectFrom(all.as('counted'))
    .select(({ fn }) => [
      fn.sum<number | null>('total').as('files'),
      fn.sum<number | null>('bytes').as('bytes'),
    ])
    .executeTakeFirstOrThrow()
  return { files: Number(row.files ?? 0), bytes: Number(row.bytes ?? 0) }
}

/** Of the earlier versions of these files. */
export async function sumVersionsOf(db: StorageDb, fileIds: number[]): Promise<number> {
  if (fileIds.length === 0) return 0
  const row = await db
    .selectFrom('file_versions')
    .select(({ fn }) => fn.sum<number | null>('size_bytes').as('bytes'))
    .where('file_id', 'in', fileIds)
    .where('state', '=', 'kept')
    .executeTakeFirstOrThrow()
  return Number(row.bytes ?? 0)
}

type OwnerUsage = Usage & { ownerId: string; owner: string | null }

/** The owners of files, those with the most bytes first. */
export async function listUsage(db: StorageDb, page: PageRequest): Promise<OwnerUsage[]> {
  return db
    .selectFrom('owner_usage')
    .select((row) => [
      'owner_id as ownerId',
      'total as files',
      'bytes',
      row
        .selectFrom('files')
        .select('owner_name')
        .whereRef('files.owner_id', '=', 'owner_usage.owner_id')
        .where('state', '=', 'stored')
        .orderBy('id', 'desc')
        .limit(1)
        .as('owner'),
    ])
    .where('total', '>', 0)
    .orderBy('bytes', 'desc')
    .orderBy('owner_id')
    .limit(page.size)
    .offset(page.offset)
    .execute()
}

export async function countOwners(db: StorageDb): Promise<number> {
  const row = await db
    .selectFrom('owner_usage')
    .select(sql<number>`count(*)`.as('owners'))
    .where('total', '>', 0)
    .executeTakeFirst()
  return Number(row?.owners ?? 0)
}
