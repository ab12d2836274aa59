import { isLeaseHeld } from '@plinth/kit/database'
import { failPoint } from '@plinth/kit/runtime'
import {
  HELD_FOR_BACKUP,
  HOLD_SECONDS,
  type ObjectAddress,
  objectKey,
  type Storage,
  thumbnailKey,
} from '../storage.ts'
import { deleteVersionRow, listVersions, type Version } from './versions.repository.ts'

/**
 * Removes the bytes of a version that is marked for it, then its row. While a backup is reading, objects are left for
 * later. Readers that have the object open keep it, or fail: its name is never used again.
 */
export async function finishVersion(storage: Storage, version: Version): Promise<void> {
  const { db, withReserve } = storage
  if (await isLeaseHeld(db, HELD_FOR_BACKUP, HOLD_SECONDS)) return
  await removeContent(storage, version)
  await withReserve(() => deleteVersionRow(db, version.id))
}

/** The versions of a file that have left. What fails now is left to a job. */
export async function finishLeaving(storage: Storage, fileId: number): Promise<void> {
  try {
    for (const version of await listVersions(storage.db, { fileId, state: 'deleting' }))
      await finishVersion(storage, version)
  } catch (error) {
    storage.log.warn({ err: error, file: fileId }, 'a replaced version could not be removed yet')
  }
}

/** Of a file that is being deleted: the bytes of all its versions. Their rows go with that of the file. */
export async function removeVersionBytes(storage: Storage, fileId: number): Promise<void> {
  for (const version of await listVersions(storage.db, { fileId }))
    await removeContent(storage, version)
}

async function removeContent(storage: Storage, object: ObjectAddress): Promise<void> {
  await storage.providers.at(object.location).remove(objectKey(object))
  failPoint('version:object')
  await removeDrawn(storage, object)
}

/** Removes what was drawn of an object: an earlier version is not drawn. */
export async function removeDrawn(storage: Storage, object: ObjectAddress): Promise<void> {
  await storage.providers.at(object.location).remove(thumbnailKey(object))
  await storage.beside.remove(object)
}
