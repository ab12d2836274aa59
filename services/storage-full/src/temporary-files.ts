import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { asStorageFault } from './storage-fault.ts'

/** A copy of some bytes on disk, gone when it is disposed of (`await using`). */
export type TemporaryFile = AsyncDisposable & {
  path: string
  sizeBytes: number
  checksumSha256: string
}

/** Streams to disk and hashes on the way; the name says which process is at it. */
export async function copyToDisk(bytes: Readable, folder: string): Promise<TemporaryFile> {
  const path = join(folder, `${process.pid}.${randomUUID()}.part`)
  const remove = () => rm(path, { force: true })
  const hash = createHash('sha256')
  const tap = new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })
  try {
    await mkdir(folder, { recursive: true })
    await pipeline(bytes, tap, createWriteStream(path, { flags: 'wx', mode: 0o600 }))
    const { size } = await stat(path)
    const checksumSha256 = hash.digest('hex')
    return { path, sizeBytes: size, checksumSha256, [Symbol.asyncDispose]: remove }
  } catch (error) {
    bytes.destroy()
    await remove()
    throw asStorageFault(error)
  }
}
