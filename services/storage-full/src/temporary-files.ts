import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { openSpool, type Spool } from '@plinth/kit'
import { openBytes } from './file-bytes.ts'
import type { Storage } from './storage.ts'
import { asStorageFault } from './storage-fault.ts'
import { objectKey, type StoredFile } from './stored-file.ts'

/** A copy of some bytes on disk, gone when it is disposed of (`await using`). */
export type TemporaryFile = AsyncDisposable & {
  path: string
  sizeBytes: number
  checksumSha256: string
}

/** Streams to disk, where uploads wait too, and hashes on the way. */
export async function copyToDisk(bytes: Readable, folder: string): Promise<TemporaryFile> {
  try {
    return await copyInto(await openSpool(folder, { sha256: true }), bytes)
  } catch (error) {
    bytes.destroy()
    throw asStorageFault(error)
  }
}

async function copyInto(spool: Spool, bytes: Readable): Promise<TemporaryFile> {
  try {
    for await (const chunk of bytes) await spool.write(chunk)
    await spool.finish()
  } catch (error) {
    await spool.discard()
    throw error
  }
  const { path, sizeBytes } = spool
  const checksumSha256 = spool.sha256() ?? ''
  return { path, sizeBytes, checksumSha256, [Symbol.asyncDispose]: () => spool.discard() }
}

/** The bytes of a stored file as a file of this disk, which stays while it is read. */
export async function originalOnDisk(
  storage: Storage,
  file: StoredFile,
): Promise<AsyncDisposable & { path: string }> {
  // The name of a spool: if this process dies, the next one sweeps it away.
  const path = join(storage.spoolFolder, `${process.pid}.${randomUUID()}.part`)
  const provider = storage.providers.at(file.location)
  if (await provider.link?.(objectKey(file), path))
    return { path, [Symbol.asyncDispose]: () => rm(path, { force: true }) }
  return copyToDisk(await openBytes(storage, file), storage.spoolFolder)
}
