import { inTransaction, isForeignKeyViolation } from '@plinth/kit/database'
import type { StorageDb } from '../../database/tables.ts'
import { overFolders } from '../problems.ts'
import type { Storage } from '../storage.ts'
import { createdFolder, findFolder, foldersWithRoom } from './folders.repository.ts'
import { ROOT, withAncestors } from './paths.ts'

type Place = { ownerId: string; folder: string }

/**
 * Runs a write that puts a file into a folder, with the id of the folder. Missing folders are created in the
 * transaction of the write. The write fails if the folder is deleted meanwhile, and is then tried again in this way.
 */
export async function intoFolder<R>(
  { db, clock }: Pick<Storage, 'db' | 'clock'>,
  { ownerId, folder }: Place,
  write: (db: StorageDb, folderId: number | null) => Promise<R>,
): Promise<R> {
  if (folder === ROOT) return write(db, null)
  const found = db.isTransaction ? undefined : await findFolder(db, ownerId, folder)
  try {
    if (found) return await write(db, found.id)
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error
  }
  return inTransaction(db, async (inside) =>
    write(
      inside,
      await createdFolder(inside, {
        ownerId,
        paths: withAncestors(folder),
        now: clock(),
        tooMany: overFolders,
      }),
    ),
  )
}

/** Fails if the folder is missing and cannot be created. Only `intoFolder` decides: the folders may change meanwhile. */
export async function requireRoomForFolder(
  { db }: Pick<Storage, 'db'>,
  { ownerId, folder }: Place,
): Promise<void> {
  if (folder === ROOT) return
  await foldersWithRoom(db, { ownerId, paths: withAncestors(folder), tooMany: overFolders })
}
