import { inTransaction, isLeaseHeld } from '@plinth/kit/database'
import { failPoint } from '@plinth/kit/runtime'
import { checksumOf, openBytes, spoolBytes } from '../files/bytes.ts'
import { insertFileEvent } from '../files/events.ts'
import { updateLocation } from '../files/files.repository.ts'
import {
  HELD_FOR_BACKUP,
  HOLD_SECONDS,
  newObjectName,
  type ObjectAddress,
  objectKey,
  type Storage,
  type StoredFile,
  thumbnailKey,
} from '../files/storage.ts'
import type { Location } from '../locations/providers/provider.ts'
import { lockRunningMove } from './moves.repository.ts'

export type Destination = { moveId: number; location: Location }

/** The bytes are not those of the upload; moving them would hide the damage. */
export class DamagedBytesError extends Error {
  override name = 'DamagedBytesError'
}

/**
 * Copies a file, reads the copy back to check it, switches the row, and only then removes the
 * original: at every moment the row names an object that is complete. Restorable files are moved too.
 * Returns false when the file was deleted in the meantime, or the move has ended: from then on the
 * sweeper may remove the copy.
 */
export async function moveFile(
  storage: Storage,
  file: StoredFile,
  { moveId, location }: Destination,
): Promise<boolean> {
  const target = { location, objectName: newObjectName(file.extension) }
  await copyVerified(storage, file, target)
  const switched = await inTransaction(storage.db, async (db) => {
    if (!(await lockRunningMove(db, moveId))) return false
    const moved = await updateLocation(db, file, target)
    // For a restorable file, subscribers have already received `file.deleted`.
    if (moved?.state === 'stored') await insertFileEvent(db, 'file.moved', moved, storage.clock())
    return moved !== undefined
  })
  failPoint('move:row')
  await removeUnused(storage, switched ? file : target)
  return switched
}

async function copyVerified(storage: Storage, file: StoredFile, target: ObjectAddress) {
  const original = await openBytes(storage, file)
  await using content = await spoolBytes(original, storage.spoolFolder, { sha256: true })
  failPoint('move:read')
  refuseDamaged(content.sha256, file)
  const provider = storage.providers.at(target.location)
  try {
    await provider.put(objectKey(target), { ...file, content })
    failPoint('move:put')
    const arrived = await provider.open(objectKey(target))
    refuseDamaged(arrived && (await checksumOf(arrived)), file)
  } catch (error) {
    await removeUnused(storage, target)
    throw error
  }
  failPoint('move:verified')
}

function refuseDamaged(checksum: string | undefined, file: StoredFile): void {
  if (checksum !== file.checksumSha256)
    throw new DamagedBytesError(`The bytes of file ${file.id} do not match its checksum`)
}

/** If removal fails, or a backup is reading, the object is left to the sweeper: no row names it. */
async function removeUnused(storage: Storage, unused: ObjectAddress): Promise<void> {
  const { db, providers, beside, log } = storage
  const provider = providers.at(unused.location)
  try {
    if (await isLeaseHeld(db, HELD_FOR_BACKUP, HOLD_SECONDS)) return
    await provider.remove(objectKey(unused))
    failPoint('move:object')
    await provider.remove(thumbnailKey(unused))
    await beside.remove(unused)
  } catch (error) {
    log.warn({ err: error }, 'an object left behind by a move could not be removed yet')
  }
}
