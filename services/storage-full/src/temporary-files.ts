import type { Readable } from 'node:stream'
import { openSpool, type Spool } from '@plinth/kit'
import { asStorageFault } from './storage-fault.ts'

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
