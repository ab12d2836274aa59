import { forUpdate, prepared } from '@plinth/kit/database'
import type { StorageDb } from '../../database/tables.ts'

type NewLink = { fileId: number; tokenHash: string; createdAt: Date; expiresAt: Date }

/** Returns the id of the link; inserts nothing when the file is being deleted. */
export async function insertLink(db: StorageDb, link: NewLink): Promise<number | undefined> {
  const row = db
    .selectFrom('files')
    .select((file) => [
      'id',
      file.val(link.tokenHash).as('token_hash'),
      file.val(link.createdAt.toISOString()).as('created_at'),
      file.val(link.expiresAt.toISOString()).as('expires_at'),
      file.lit(0).as('opened_count'),
    ])
    .where('id', '=', link.fileId)
    .where('state', '=', 'stored')
  const inserted = await db
    .insertInto('temporary_links')
    .columns(['file_id', 'token_hash', 'created_at', 'expires_at', 'opened_count'])
    .expression(forUpdate(db, row))
    .returning('id')
    .executeTakeFirst()
  return inserted?.id
}

type Opening = { tokenHash: string; at: string }

const unexpired = prepared((db: StorageDb, { tokenHash, at }: Opening) =>
  db
    .selectFrom('temporary_links')
    .select('file_id')
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', at),
)

/** The file of an unexpired link. */
export async function findLinkedFileId(
  db: StorageDb,
  tokenHash: string,
  now: Date,
): Promise<number | undefined> {
  const [row] = await unexpired(db, { tokenHash, at: now.toISOString() })
  return row?.file_id
}

const countOpened = prepared((db: StorageDb, { tokenHash, at }: Opening) =>
  db
    .updateTable('temporary_links')
    .set((row) => ({ opened_count: row('opened_count', '+', 1), last_opened_at: at }))
    .where('token_hash', '=', tokenHash)
    .returning(['id as linkId', 'file_id as fileId', 'expires_at as expiresAt']),
)

/** Counts a use; returns undefined when the link has just been revoked. */
export async function updateOpened(db: StorageDb, tokenHash: string, now: Date) {
  const [opened] = await countOpened(db, { tokenHash, at: now.toISOString() })
  return opened
}

/** The unexpired links of a file, newest first. */
export async function listLinks(db: StorageDb, fileId: number, now: Date) {
  return db
    .selectFrom('temporary_links')
    .select([
      'id',
      'created_at as createdAt',
      'expires_at as expiresAt',
      'opened_count as openedCount',
      'last_opened_at as lastOpenedAt',
    ])
    .where('file_id', '=', fileId)
    .where('expires_at', '>', now.toISOString())
    .orderBy('id', 'desc')
    .execute()
}

export async function deleteLink(db: StorageDb, fileId: number, linkId: number): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('temporary_links')
    .where('id', '=', linkId)
    .where('file_id', '=', fileId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}
