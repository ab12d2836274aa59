import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { failPoint } from '@plinth/kit'
import { openBytes } from './file-bytes.ts'
import { updateLocation } from './files.repository.ts'
import type { Location } from './location.ts'
import type { Storage } from './storage.ts'
import { asStorageFault } from './storage-fault.ts'
import { newObjectName, objectKey, type StoredFile, thumbnailKey } from './stored-file.ts'
import { spoolBytes } from './temporary-files.ts'

/** The bytes are not those of the upload: moving them would hide it. */
export class DamagedBytesError extends Error {
  override name = 'DamagedBytesError'
}

/**
 * Copies a file, checks the copy byte by byte, switches the row, and only then removes the
 * original: at every moment the row names an object that is complete. Tells whether it was moved;
 * a file that was deleted meanwhile is not.
 */
export async function moveFile(
  storage: Storage,
  file: StoredFile,
  location: Location,
): Promise<boolean> {
  const target = { location, objectName: newObjectName(file.extension) }
  await copyVerified(storage, file, target)
  const switched = await updateLocation(storage.db, file, {
    locationId: location.id,
    objectName: target.objectName,
  })
  failPoint('move:row')
  const unused = switched ? file : target
  const provider = storage.providers.at(unused.location)
  await provider.remove(objectKey(unused))
  failPoint('move:object')
  await provider.remove(thumbnailKey(unused))
  return switched
}

async function copyVerified(
  storage: Storage,
  file: StoredFile,
  target: Pick<StoredFile, 'location' | 'objectName'>,
): Promise<void> {
  const options = { sha256: true, passedOn: target.location.provider !== 'LOCAL' }
  const original = await openBytes(storage, file)
  await using content = await spoolBytes(original, storage.spoolFolder, options)
  failPoint('move:read')
  refuseDamaged(content.sha256, file)
  const provider = storage.providers.at(target.location)
  await provider.put(objectKey(target), { ...file, content })
  failPoint('move:put')
  const arrived = await provider.open(objectKey(target))
  refuseDamaged(arrived && (await checksumOf(arrived)), file)
  failPoint('move:verified')
}

function refuseDamaged(checksum: string | undefined, file: StoredFile): void {
  if (checksum !== file.checksumSha256)
    throw new DamagedBytesError(`The bytes of file ${file.id} do not match its checksum`)
}

export async function checksumOf(bytes: Readable): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of bytes) hash.update(chunk)
  } catch (error) {
    throw asStorageFault(error)
  }
  return hash.digest('hex')
}
