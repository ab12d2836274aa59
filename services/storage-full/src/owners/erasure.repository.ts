import { findUserByUsername, renameInAudit, shortenAuditToRename } from '@plinth/accounts'
import { renameEndpointCreator } from '@plinth/events'
import { inTransaction } from '@plinth/kit/database'
import { endKeysMadeBy, isReservedName } from '@plinth/service-keys'
import type { StorageDb } from '../database/tables.ts'
import { lockFolders } from '../files/folders/folders.repository.ts'

/**
 * Replaces the name of an erased user of the issuer in the rows that mention it, and ends the service keys
 * of that user. If the name is reserved, or an account here has it, nothing changes: the rows may be about others.
 */
export async function renameOwner(
  db: StorageDb,
  username: string,
  { to, now, signal }: { to: string; now: Date; signal: AbortSignal },
): Promise<void> {
  if (isReservedName(username) || (await findUserByUsername(db, username))) return
  await shortenAuditToRename(db, username, to, signal)
  if (signal.aborted) return
  await inTransaction(db, async (inside) => {
    await renameInAudit(inside, username, to)
    await endKeysMadeBy(inside, username, { to, now })
    await renameEndpointCreator(inside, username, to)
    await inside
      .updateTable('file_moves')
      .set({ requested_by: to })
      .where('requested_by', '=', username)
      .execute()
  })
}

/**
 * Deletes the folders of an owner without stored files. Files that wait for the removal of their bytes keep no name of
 * a folder, and no words.
 */
export async function eraseFolders(db: StorageDb, ownerId: string): Promise<void> {
  await inTransaction(db, async (inside) => {
    await lockFolders(inside, ownerId)
    await inside
      .updateTable('files')
      .set({ folder_id: null, former_folder: null })
      .where('owner_id', '=', ownerId)
      .where('state', '=', 'deleting')
      .execute()
    await inside.deleteFrom('file_words').where('owner_id', '=', ownerId).execute()
    await inside.deleteFrom('folders').where('owner_id', '=', ownerId).execute()
  })
}

/** Files of an owner that are stored or restorable. */
export async function listIdsToErase(
  db: StorageDb,
  ownerId: string,
  limit: number,
): Promise<number[]> {
  const rows = await db
    .selectFrom('files')
    .select('id')
    .where('owner_id', '=', ownerId)
    .where('state', 'in', ['stored', 'restorable'])
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}
