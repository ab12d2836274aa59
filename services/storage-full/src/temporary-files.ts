import { rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { Spool, type SpoolOptions, spoolPath } from '@plinth/kit'
import { openBytes } from './file-bytes.ts'
import type { Storage } from './storage.ts'
import { asStorageFault } from './storage-fault.ts'
import { objectKey, type StoredFile } from './stored-file.ts'

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
