import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely'
import type { StorageDb, StorageTables } from '../database/tables.ts'
import { fileOf, selectFiles } from '../files/files.repository.ts'
import { idsWithin, listFileIds, type Subtree } from '../files/folders/folders.repository.ts'
import type { StoredFile } from '../files/storage.ts'
import { hasTerm } from '../files/words.repository.ts'
import type { Sorted, SortName, Sought } from './query.ts'

/** Where a file is in the order of a search. */
export type Place = { key: string | number; id: number }

/** Where to search: everywhere, in `/` or one folder, or in a folder and all below it. */
export type Where = WhereOfAll | { kind: 'subtree'; subtree: Subtree }

/** The same for every owner: folders with a name are different ones. */
export type WhereOfAll = { kind: 'everywhere' } | { kind: 'folder'; id: number | null }

/** Without an owner, the files of all. */
export type Search = { ownerId?: string; sought: Sought; where: Where }

export type OwnerSearch = Search & { ownerId: string }

const COLUMNS = [
  ...(['id', 'owner_id', 'state', 'folder_id', 'words', 'content_type'] as const),
  ...(['size_bytes', 'created_at', 'folded_name'] as const),
]

const KEYS = {
  createdAt: sql<string>`files.created_at`,
  updatedAt: sql<string>`coalesce(files.updated_at, files.created_at)`,
  name: sql<string>`files.folded_name`,
  size: sql<number>`files.size_bytes`,
} satisfies Record<SortName, unknown>

function keyOf({ by }: Sorted) {
  return KEYS[by] as typeof KEYS.createdAt
}

function directionOf({ descending }: Sorted): 'asc' | 'desc' {
  return descending ? 'desc' : 'asc'
}

/** The key of the order where it was read along with the columns. */
const READ_KEY = sql<string>`files.key`

function beyond(sort: Sorted, { key, id }: Place, column = keyOf(sort)) {
  const than = sql.raw(sort.descending ? '<' : '>')
  return sql<boolean>`(${column}, files.id) ${than} (${key}, ${id})`
}

/** What makes a file one of those that are sought. */
function matches(db: StorageDb, { ownerId, sought, where }: Search) {
  const file = expressionBuilder<StorageTables, 'files'>()
  const { type, minSize, maxSize, createdAfter, createdBefore } = sought
  const given = <T>(
    value: T | undefined,
    condition: (value: T) => Expression<SqlBool>,
  ): Expression<SqlBool>[] => (value === undefined ? [] : [condition(value)])
  return file.and([
    ...given(ownerId, (owner) => file('files.owner_id', '=', owner)),
    file('files.state', '=', 'stored'),
    ...sought.terms.map((term) => hasTerm(db, sql.ref('files.words'), term)),
    ...given(type, (sent) =>
      sent.includes('/')
        ? file('files.content_type', '=', sent)
        : sql<SqlBool>`substr(files.content_type, 1, ${sent.length + 1}) = ${`${sent}/`}`,
    ),
    ...given(minSize, (bytes) => file('files.size_bytes', '>=', bytes)),
    ...given(maxSize, (bytes) => file('files.size_bytes', '<=', bytes)),
    ...given(createdAfter, (at) => file('files.created_at', '>=', at)),
    ...given(createdBefore, (at) => file('files.created_at', '<', at)),
    ...(where.kind === 'folder'
      ? [file('files.folder_id', where.id === null ? 'is' : '=', where.id)]
      : []),
    ...(where.kind === 'subtree'
      ? [file('files.folder_id', 'in', idsWithin(db, where.subtree))]
      : []),
  ])
}

/** Those of the candidates that match, in order. Their columns are read first, so that no index is chosen for them. */
export async function listAmong(
  db: StorageDb,
  search: Search,
  { candidates, after, limit }: { candidates: number[]; after: Place | undefined; limit: number },
): Promise<Place[]> {
  if (candidates.length === 0) return []
  const { sort } = search.sought
  return db
    .with(
      (cte) => cte('candidates').materialized(),
      (inside) =>
        inside
          .selectFrom('files')
          .select([...COLUMNS, keyOf(sort).as('key')])
          .where('id', 'in', candidates),
    )
    .selectFrom('candidates as files')
    .select(['files.key', 'files.id'])
    .where(matches(db, search))
    .$if(after !== undefined, (files) => files.where(beyond(sort, after as Place, READ_KEY)))
    .orderBy('files.key', directionOf(sort))
    .orderBy('files.id', directionOf(sort))
    .limit(limit)
    .execute()
}

/** Whether an index has the files of one folder in this order. */
export function isFolderInOrder({ sought, where }: OwnerSearch): boolean {
  return where.kind === 'folder' && ['createdAt', 'name'].includes(sought.sort.by)
}

/** Stored files of the owner, or of one folder, in order: an index has exactly these. */
function inOrder(db: StorageDb, search: OwnerSearch, after: Place | undefined) {
  const { ownerId, sought, where } = search
  const { sort } = sought
  return db
    .selectFrom('files')
    .where('files.owner_id', '=', ownerId)
    .where('files.state', '=', 'stored')
    .$if(isFolderInOrder(search), (files) => {
      const id = where.kind === 'folder' ? where.id : null
      return files.where('files.folder_id', id === null ? 'is' : '=', id)
    })
    .$if(after !== undefined, (files) => files.where(beyond(sort, after as Place)))
    .orderBy(keyOf(sort), directionOf(sort))
    .orderBy('files.id', directionOf(sort))
}

type Window = { after: Place | undefined; rows: number; limit: number }

/** Those of the next `rows` files that match, and where these end; no end when there are no more. */
export async function scanWindow(
  db: StorageDb,
  search: OwnerSearch,
  { after, rows, limit }: Window,
): Promise<{ found: Place[]; end: Place | undefined }> {
  const { sort } = search.sought
  const key = keyOf(sort).as('key')
  // SQLite takes the key from the index: in a row, the time of the last change lies behind all metadata.
  const read = inOrder(db, search, after)
    .select([...COLUMNS, key])
    .limit(rows)
  const found = await db
    .selectFrom(read.as('files'))
    .select(['files.key', 'files.id'])
    .where(matches(db, search))
    .orderBy('files.key', directionOf(sort))
    .orderBy('files.id', directionOf(sort))
    .limit(limit)
    .execute()
  if (found.length === limit) return { found, end: undefined }
  const end = await inOrder(db, search, after)
    .select([key, 'files.id'])
    .offset(rows - 1)
    .limit(1)
    .executeTakeFirst()
  return { found, end }
}

/** The stored files in a folder, or in it and all below it, at most `limit`. */
export async function listInFolders(
  db: StorageDb,
  { ownerId, where }: OwnerSearch,
  limit: number,
): Promise<number[]> {
  if (where.kind === 'subtree') return listFileIds(db, where.subtree, limit)
  const id = where.kind === 'folder' ? where.id : null
  const rows = await db
    .selectFrom('files')
    .select('files.id')
    .where('files.owner_id', '=', ownerId)
    .where('files.state', '=', 'stored')
    .where('files.folder_id', id === null ? 'is' : '=', id)
    .limit(limit)
    .execute()
  return rows.map((row) => row.id)
}

export async function listOwners(db: StorageDb): Promise<string[]> {
  const rows = await db
    .selectFrom('owner_usage')
    .select('owner_id')
    .where('total', '>', 0)
    .orderBy('owner_id')
    .execute()
  return rows.map(({ owner_id }) => owner_id)
}

/** In the order of the ids; without those that are not stored any more. */
export async function listByIds(db: StorageDb, ids: number[]): Promise<StoredFile[]> {
  if (ids.length === 0) return []
  const rows = await selectFiles(db)
    .where('files.id', 'in', ids)
    .where('files.state', '=', 'stored')
    .execute()
  const files = new Map(rows.map((row) => [row.id, fileOf(row)]))
  return ids.flatMap((id) => files.get(id) ?? [])
}

/** Whether files of an earlier version still wait for their words. */
export async function hasWordless(db: StorageDb): Promise<boolean> {
  const file = await db
    .selectFrom('files')
    .select('id')
    .where('words', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return file !== undefined
}
