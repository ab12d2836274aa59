import type { Readable } from 'node:stream'
import { findFile } from './files.repository.ts'
import { fileNotFound, storedBytesMissing } from './problems.ts'
import type { ByteRange } from './providers/provider.ts'
import type { Storage } from './storage.ts'
import { objectKey, type StoredFile } from './stored-file.ts'

type Reading = Pick<Storage, 'db' | 'providers'>

/**
 * Opens the bytes where the file says they are. Between reading the row and opening the object a
 * move may have taken it elsewhere; then the row knows the new place.
 */
export async function openBytes(
  storage: Reading,
  file: StoredFile,
  range?: ByteRange,
): Promise<Readable> {
  const bytes = await storage.providers.at(file.location).open(objectKey(file), range)
  if (bytes) return bytes
  const current = await findFile(storage.db, file.id)
  if (current?.state !== 'stored') throw fileNotFound()
  if (current.objectName === file.objectName)
    throw storedBytesMissing({ cause: new Error(`No object for file ${file.id}`) })
  return openBytes(storage, current, range)
}
