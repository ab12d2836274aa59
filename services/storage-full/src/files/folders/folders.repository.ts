import { engineOf, fromRow, prepared, toRow } from '@plinth/kit/database'
import { type ExpressionBuilder, sql } from 'kysely'
import type { StorageDb, StorageTables } from '../../database/tables.ts'

/** Of one owner. A move changes the paths of all folders below in one statement, for which others wait. */
const MAX_FOLDERS = 10_000

export type Folder = { id: number; path: string; createdAt: string }

const byPath = prepared((db: StorageDb, { ownerId, path }: { ownerId: string; path: string }) =>
  db
    .selectFrom('folders')
    .select(['id', 'path', 'created_at'])
    .where('owner_id', '=', ownerId)
    .where('path', '=', path),
)

export async function findFolder(
  db: StorageDb,
  ownerId: string,
  path: string,
): Promise<Folder | undefined> {
  const [row] = await byPath(db, { ownerId, path })
  return row && fromRow(row)
}

/**
 * Call it first in a transaction that creates, moves or deletes folders: one node at a time changes the tree of an
 * owner, so that no folder loses its parent. SQLite has one writer. Storing a file in a folder does not need it,
 * because the file refers to the folder.
 */
export async function lockFolders(db: StorageDb, ownerId: string): Promise<void> {
  if (engineOf(db) === 'postgres')
    await sql`select pg_advisory_xact_lock(hashtextextended(${`folders of ${ownerId}`}, 0))`.execute(
      db,
    )
}

/** `paths`: of the folder and of all above it, the highest first. `tooMany`: what to throw beyond the limit. */
type Wanted = { ownerId: string; paths: string[]; now: Date; tooMany: () => Error }

/** Creates the folder and those above it, where they are missing. Call it with the folders of the owner locked. */
export async function ensureFolder(
  db: StorageDb,
  { ownerId, paths, now, tooMany }: Wanted,
): Promise<{ folder: Folder; isNew: boolean }> {
  const known = await foldersWithRoom(db, { ownerId, paths, tooMany })
  const isNew = known.size < paths.length
  const createdAt = now.toISOString()
  let above: Folder | undefined
  for (const path of paths) {
    above = known.get(path) ?? {
      path,
      createdAt,
      id: await insertFolder(db, { ownerId, parentId: above?.id ?? null, path, createdAt }),
    }
  }
  if (!above) throw new Error('A folder has a path')
  return { folder: above, isNew }
}

/** Those of the folders that are there, by path. Fails when the owner may not have the others as well. */
export async function foldersWithRoom(
  db: StorageDb,
  { ownerId, paths, tooMany }: Omit<Wanted, 'now'>,
): Promise<Map<string, Folder>> {
  const rows = await db
    .selectFrom('folders')
    .select(['id', 'path', 'created_at'])
    .where('owner_id', '=', ownerId)
    .where('path', 'in', paths)
    .execute()
  const missing = paths.length - rows.length
  if (missing > 0 && (await countFolders(db, ownerId)) + missing > MAX_FOLDERS) throw tooMany()
  return new Map(rows.map((row) => [row.path, fromRow(row)]))
}

async function countFolders(db: StorageDb, ownerId: string): Promise<number> {
  const { folders } = await db
    .selectFrom('folders')
    .select(({ fn }) => fn.countAll<number>().as('folders'))
    .where('owner_id', '=', ownerId)
    .executeTakeFirstOrThrow()
  return Number(folders)
}

type NewFolder = { ownerId: string; parentId: number | null; path: string; createdAt: string }

async function insertFolder(db: StorageDb, folder: NewFolder): Promise<number> {
  const { id } = await db
    .insertInto('folders')
    .values(toRow(folder))
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/**
 * The id of the folder, which is created if it is missing; null without paths, for `/`. Call it first in a
 * transaction: it locks the folders of the owner.
 */
export async function createdFolder(db: StorageDb, wanted: Wanted): Promise<number | null> {
  if (wanted.paths.length === 0) return null
  await lockFolders(db, wanted.ownerId)
  return (await ensureFolder(db, wanted)).folder.id
}

/** The folders directly below another, by path; `parentId` is null for `/`. */
export async function listChildren(
  db: StorageDb,
  { ownerId, parentId }: { ownerId: string; parentId: number | null },
  { after, limit }: { after: string; limit: number },
): Promise<Folder[]> {
  const rows = await db
    .selectFrom('folders')
    .select(['id', 'path', 'created_at'])
    .where('owner_id', '=', ownerId)
    .where('parent_id', parentId === null ? 'is' : '=', parentId)
    .where('path', '>', after)
    .orderBy('path')
    .limit(limit)
    .execute()
  return rows.map(fromRow)
}

export type Subtree = { ownerId: string; path: string }

type FolderExpression = ExpressionBuilder<StorageTables, 'folders'>

/** A folder and all below it. A range, which an index answers: `0` is the character after `/`. */
function within({ ownerId, path }: Subtree) {
  return (row: FolderExpression) =>
    row.and([
      row('folders.owner_id', '=', ownerId),
      row.or([
        row('folders.path', '=', path),
        row.and([row('folders.path', '>=', `${path}/`), row('folders.path', '<', `${path}0`)]),
      ]),
    ])
}

/** For queries about the files in a folder and below it. */
export function idsWithin(db: StorageDb, subtree: Subtree) {
  return db.selectFrom('folders').select('folders.id').where(within(subtree))
}

/** The bytes of the longest path, and the levels of the deepest, of a folder and all below it. */
export async function longestWithin(
  db: StorageDb,
  subtree: Subtree,
): Promise<{ bytes: number; levels: number }> {
  const bytes =
    engineOf(db) === 'postgres' ? sql`octet_length(path)` : sql`length(cast(path as blob))`
  return db
    .selectFrom('folders')
    .select([
      sql<number>`max(${bytes})`.as('bytes'),
      sql<number>`max(length(path) - length(replace(path, '/', '')))`.as('levels'),
    ])
    .where(within(subtree))
    .executeTakeFirstOrThrow()
}

/**
 * The stored files of a folder and all below it. SQLite takes a cross join in this order: folders first, then the files
 * of each. Otherwise it may read all files of the owner.
 */
function filesWithin(db: StorageDb, subtree: Subtree) {
  return db
    .selectFrom('folders')
    .crossJoin('files')
    .where(within(subtree))
    .whereRef('files.folder_id', '=', 'folders.id')
    .where('files.owner_id', '=', subtree.ownerId)
    .where('files.state', '=', 'stored')
}

export async function countFilesWithin(db: StorageDb, subtree: Subtree): Promise<number> {
  const { files } = await filesWithin(db, subtree)
    .select(({ fn }) => fn.countAll<number>().as('files'))
    .executeTakeFirstOrThrow()
  return Number(files)
}

/** Files do not change: they refer to the folder, not to its path. */
export async function updatePaths(
  db: StorageDb,
  { ownerId, path: from }: Subtree,
  { to, parentId }: { to: string; parentId: number | null },
): Promise<void> {
  // In characters, as both engines count.
  const rest = [...from].length + 1
  await db
    .updateTable('folders')
    .set({ path: sql<string>`cast(${to} as text) || substr(path, ${sql.lit(rest)})` })
    .where(within({ ownerId, path: from }))
    .execute()
  await db
    .updateTable('folders')
    .set({ parent_id: parentId })
    .where('owner_id', '=', ownerId)
    .where('path', '=', to)
    .execute()
}

/** Fails when a file refers to one of them. */
export async function deleteFolders(db: StorageDb, subtree: Subtree): Promise<void> {
  await db.deleteFrom('folders').where(within(subtree)).execute()
}

export async function hasChildren(db: StorageDb, { ownerId, path }: Subtree): Promise<boolean> {
  const child = await db
    .selectFrom('folders')
    .select('id')
    .where(within({ ownerId, path }))
    .where('path', '!=', path)
    .limit(1)
    .executeTakeFirst()
  return child !== undefined
}

/** Of files that are stored there, at most `limit`. */
export async function listFileIds(
  db: StorageDb,
  subtree: Subtree,
  limit: number,
): Promise<number[]> {
  const rows = await filesWithin(db, subtree).select('files.id').limit(limit).execute()
  return rows.map(({ id }) => id)
}

/** Deleted files no longer refer to these folders, but remember the path. Returns how many did, at most `limit`. */
export async function detachDeleted(
  db: StorageDb,
  subtree: Subtree,
  limit = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('files')
    .set((row) => ({
      former_folder: row
        .selectFrom('folders')
        .select('folders.path')
        .whereRef('folders.id', '=', 'files.folder_id'),
      folder_id: null,
    }))
    .where('state', '!=', 'stored')
    .where('id', 'in', (row) =>
      row
        .selectFrom('files as deleted')
        .select('deleted.id')
        .where('deleted.folder_id', 'in', idsWithin(db, subtree))
        .where('deleted.state', '!=', 'stored')
        .limit(limit),
    )
    .executeTakeFirst()
  return Number(numUpdatedRows)
}
