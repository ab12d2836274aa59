import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import {
  contentDisposition,
  Problem,
  type Reply,
  type Request,
  Spool,
  type SpoolOptions,
  sendFile,
  spoolPath,
} from '@plinth/kit'
import { storageUnavailable } from '../locations/problems.ts'
import type { ByteRange } from '../locations/providers/provider.ts'
import { findFile } from './files.repository.ts'
import { fileNotFound, storedBytesMissing } from './problems.ts'
import { objectKey, type Storage, type StoredFile } from './storage.ts'

export async function checksumOf(bytes: Readable): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of bytes) hash.update(chunk)
  } catch (error) {
    throw asStorageFault(error)
  }
  return hash.digest('hex')
}

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

type Sending = { file: StoredFile; as: 'inline' | 'attachment'; cacheControl?: string }

/** The one way a file's bytes leave: for its owner, and for whoever holds a link to it. */
export function sendStoredFile(
  request: Request,
  reply: Reply,
  storage: Storage,
  { file, as, cacheControl }: Sending,
): Promise<Reply> {
  return sendFile(request, reply, {
    sizeBytes: file.sizeBytes,
    etag: `"${file.checksumSha256}"`,
    lastModified: new Date(file.createdAt),
    mediaType: file.contentType === 'text/plain' ? 'text/plain; charset=utf-8' : file.contentType,
    disposition: contentDisposition(as, file.originalFilename),
    sha256: file.checksumSha256,
    cacheControl,
    open: (start, end) => openBytes(storage, file, { start, end }),
  })
}

/** What breaks a transfer half-way is the store or the disk, whatever the error calls itself. */
export function asStorageFault(error: unknown): Problem {
  return error instanceof Problem ? error : storageUnavailable({ cause: error })
}

/** Takes bytes in, where uploads wait too. */
export async function spoolBytes(
  bytes: Readable,
  folder: string,
  options: SpoolOptions,
): Promise<Spool> {
  const spool = new Spool(folder, options)
  try {
    for await (const chunk of bytes) await spool.write(chunk)
    await spool.finish()
    return spool
  } catch (error) {
    bytes.destroy()
    await spool[Symbol.asyncDispose]()
    throw asStorageFault(error)
  }
}

/** The bytes of a stored file as a file of this disk, which stays while it is read. */
export async function originalOnDisk(
  storage: Storage,
  file: StoredFile,
): Promise<AsyncDisposable & { path: string }> {
  // The name of a spool: if this process dies, the next one sweeps it away.
  const path = spoolPath(storage.spoolFolder)
  const provider = storage.providers.at(file.location)
  if (await provider.link?.(objectKey(file), path))
    return { path, [Symbol.asyncDispose]: () => rm(path, { force: true }) }
  return spoolBytes(await openBytes(storage, file), storage.spoolFolder, {
    sha256: false,
    onDisk: true,
    passedOn: true,
  })
}
