import { fromRow, inTransaction, prepared } from '@plinth/kit/database'
import { sql } from 'kysely'
import type { StorageDb } from '../database/tables.ts'
import { idsWithin } from '../files/folders/folders.repository.ts'
import type { StoredFile } from '../files/storage.ts'

type ZipToken = {
  tokenHash: string
  makerId: string
  name: string
  fileIds: number[]
  folderIds: number[]
  createdAt: string
  expiresAt: string
}

/** False, and nothing inserted, when the maker has too many that have not expired. */
export async function insertZipToken(
  db: StorageDb,
  token: ZipToken,
  mostTokens: number,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('zip_tokens')
    .columns([
      ...(['token_hash', 'maker_id', 'name', 'file_ids'] as const),
      ...(['folder_ids', 'created_at', 'expires_at'] as const),
    ])
    .expression((row) =>
      row
        .selectFrom(
          sql<{ live: number }>`(select count(*) as live from zip_tokens
          where maker_id = ${token.makerId} and expires_at > ${token.createdAt})`.as('tokens'),
        )
        .select([
          sql<string>`cast(${token.tokenHash} as text)`.as('token_hash'),
          sql<string>`cast(${token.makerId} as text)`.as('maker_id'),
          sql<string>`cast(${token.name} as text)`.as('name'),
          sql<string>`cast(${JSON.stringify(token.fileIds)} as text)`.as('file_ids'),
          sql<string>`cast(${JSON.stringify(token.folderIds)} as text)`.as('folder_ids'),
          sql<string>`cast(${token.createdAt} as text)`.as('created_at'),
          sql<string>`cast(${token.expiresAt} as text)`.as('expires_at'),
        ])
        .where('tokens.live', '<', mostTokens),
    )
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

const unexpired = prepared((db: StorageDb, { tokenHash, at }: { tokenHash: string; at: string }) =>
  db
    .selectFrom('zip_tokens')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', at),
)

export async function findZipToken(
  db: StorageDb,
  tokenHash: string,
  now: Date,
): Promise<ZipToken | undefined> {
  const [row] = await unexpired(db, { tokenHash, at: now.toISOString() })
  if (!row) return undefined
  const { fileIds, folderIds, ...token } = fromRow(row)
  return { ...token, fileIds: JSON.parse(fileIds), folderIds: JSON.parse(folderIds) }
}

/** False when the maker has no such token that has not expired. */
export async function deleteZipToken(
  db: StorageDb,
  { tokenHash, makerId }: Pick<ZipToken, 'tokenHash' | 'makerId'>,
  now: Date,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('zip_tokens')
    .where('token_hash', '=', tokenHash)
    .where('maker_id', '=', makerId)
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirst()
  return numDeletedRows > 0n
}

export async function deleteExpiredZipTokens(db: StorageDb, now: Date): Promise<void> {
  await db.deleteFrom('zip_tokens').where('expires_at', '<=', now.toISOString()).execute()
}

export async function deleteZipTokensOf(db: StorageDb, makerId: string): Promise<void> {
  await db.deleteFrom('zip_tokens').where('maker_id', '=', makerId).execute()
}

export async function isAdministrator(db: StorageDb, userId: number): Promise<boolean> {
  const user = await db
    .selectFrom('users')
    .select('admin')
    .where('id', '=', userId)
    .executeTakeFirst()
  return user?.admin === 1
}

/** What an archive needs to know of a file; few members, because there may be ten thousand of them. */
export type ListedFile = Pick<
  StoredFile,
  | ('id' | 'ownerId' | 'originalFilename' | 'sizeBytes' | 'checksumSha256' | 'crc32')
  | ('createdAt' | 'replacedAt' | 'objectName' | 'folderId')
> & { locationId: number }

/** Those of these files that are stored. */
export async function listFilesById(db: StorageDb, ids: number[]): Promise<ListedFile[]> {
  const rows = await selectListed(db).where('id', 'in', ids).execute()
  return rows.map(fromRow)
}

function selectListed(db: StorageDb) {
  return db
    .selectFrom('files')
    .select([
      ...(['id', 'owner_id', 'original_filename', 'size_bytes', 'checksum_sha256'] as const),
      ...(['crc32', 'created_at', 'replaced_at'] as const),
      ...(['object_name', 'location_id', 'folder_id'] as const),
    ])
    .where('state', '=', 'stored')
}

/** Those of an owner that are stored in these folders, at most `limit`; null is the folder `/`. */
export async function listFilesIn(
  db: StorageDb,
  { ownerId, folderIds }: { ownerId: string; folderIds: (number | null)[] },
  limit: number,
): Promise<ListedFile[]> {
  const ids = folderIds.filter((id) => id !== null)
  const rows = await selectListed(db)
    .where('owner_id', '=', ownerId)
    .where((file) =>
      file.or([
        ...(ids.length > 0 ? [file('folder_id', 'in', ids)] : []),
        ...(ids.length < folderIds.length ? [file('folder_id', 'is', null)] : []),
      ]),
    )
    .limit(limit)
    .execute()
  return rows.map(fromRow)
}

export type ListedFolder = { id: number; path: string; createdAt: string }

function selectFolders(db: StorageDb, ownerId: string) {
  return db
    .selectFrom('folders')
    .select(['id', 'path', 'created_at'])
    .where('owner_id', '=', ownerId)
}

export async function listFoldersById(
  db: StorageDb,
  ownerId: string,
  ids: number[],
): Promise<ListedFolder[]> {
  const rows = await selectFolders(db, ownerId).where('id', 'in', ids).execute()
  return rows.map(fromRow)
}

export async function listFoldersByPath(
  db: StorageDb,
  ownerId: string,
  paths: string[],
): Promise<ListedFolder[]> {
  const rows = await selectFolders(db, ownerId).where('path', 'in', paths).execute()
  return rows.map(fromRow)
}

/** Those of an owner, by path, at most `limit`; with `path` only that folder and all below it. */
export async function listFolders(
  db: StorageDb,
  { ownerId, path }: { ownerId: string; path?: string },
  limit: number,
): Promise<ListedFolder[]> {
  const rows = await selectFolders(db, ownerId)
    .$if(path !== undefined, (some) =>
      some.where('id', 'in', idsWithin(db, { ownerId, path: path ?? '' })),
    )
    .orderBy('path')
    .limit(limit)
    .execute()
  return rows.map(fromRow)
}

export type KnownCrc = Pick<StoredFile, 'id' | 'checksumSha256'> & { crc32: number }

/** Not of a file whose content is another one by now. */
export async function updateCrcs(db: StorageDb, crcs: KnownCrc[]): Promise<void> {
  if (crcs.length === 0) return
  await inTransaction(db, async (inside) => {
    for (const { id, checksumSha256, crc32 } of crcs)
      await inside
        .updateTable('files')
        .set({ crc32 })
        .where('id', '=', id)
        .where('checksum_sha256', '=', checksumSha256)
        .where('crc32', 'is', null)
        .execute()
  })
}
