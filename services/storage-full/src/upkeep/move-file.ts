import type { Readable } from 'node:stream'
import { inTransaction, isLeaseHeld } from '@plinth/kit/database'
import { failPoint } from '@plinth/kit/runtime'
import { checksumOf, openBytes, spoolBytes } from '../files/bytes.ts'
import { insertFileEvent } from '../files/events.ts'
import { findFile, updateLocation } from '../files/files.repository.ts'
import { contentReplaced } from '../files/problems.ts'
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
import { updateVersionLocation, type Version } from '../files/versions/versions.repository.ts'
import { openVersion } from '../files/versions/versions.ts'
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
 * If its content is replaced in the meantime, the new content is moved. Returns false when the file was deleted in the
 * meantime, is at the target, or the move has ended: from then on the sweeper may remove the copy.
 */
export async function moveFile(
  storage: Storage,
  file: StoredFile,
  destination: Destination,
): Promise<boolean> {
  const moved = await moveContent(storage, file, destination).catch((error) => {
    if (!contentReplaced.is(error)) throw error
    return false
  })
  if (moved) return true
  const current = await findFile(storage.db, file.id)
  const isReplaced = current && current.state !== 'deleting' && current.version !== file.version
  if (!isReplaced || current.location.id === destination.location.id) return false
  return moveFile(storage, current, destination)
}

/** False when the row could not be switched. */
async function moveContent(
  storage: Storage,
  file: StoredFile,
  { moveId, location }: Destination,
): Promise<boolean> {
  const target = { location, objectName: newObjectName(file.extension) }
  const open = () => openBytes(storage, file)
  await copyVerified(storage, { ...file, name: `file ${file.id}`, open }, target)
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

/** The same for an earlier version. False when it was removed in the meantime, or the move has ended. */
export async function moveVersion(
  storage: Storage,
  version: Version,
  { moveId, location }: Destination,
): Promise<boolean> {
  const target = { location, objectName: newObjectName(version.extension) }
  const name = `version ${version.version} of file ${version.fileId}`
  const open = () => openVersion(storage, version)
  await copyVerified(storage, { ...version, name, open }, target)
  const switched = await inTransaction(storage.db, async (db) => {
    if (!(await lockRunningMove(db, moveId))) return false
    return updateVersionLocation(db, version, target)
  })
  failPoint('move:row')
  await removeUnused(storage, switched ? version : target)
  return switched
}

type Source = {
  name: string
  contentType: string
  checksumSha256: string
  open(): Promise<Readable>
}

async function copyVerified(storage: Storage, file: Source, target: ObjectAddress) {
  const original = await file.open()
  await using content = await spoolBytes(original, storage.spoolFolder, { sha256: true })
  failPoint('move:read')
  refuseDamaged(content.sha256, file)
  const provider = storage.providers.at(target.location)
  try {
    const { contentType, checksumSha256 } = file
    await provider.put(objectKey(target), { content, contentType, checksumSha256 })
    failPoint('move:put')
    const arrived = await provider.open(objectKey(target))
    refuseDamaged(arrived && (await checksumOf(arrived)), file)
  } catch (error) {
    await removeUnused(storage, target)
    throw error
  }
  failPoint('move:verified')
}

function refuseDamaged(checksum: string | undefined, { name, checksumSha256 }: Source): void {
  if (checksum !== checksumSha256)
    throw new DamagedBytesError(`The bytes of ${name} do not match its checksum`)
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
