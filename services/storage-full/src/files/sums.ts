import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { asStorageFault } from '../locations/problems.ts'

/** The SHA-256 of a file, in lower-case hex, and its CRC-32 for ZIP archives. */
export type Sums = { sha256: string; crc32: number }

export type RunningSums = {
  update(chunk: Buffer): void
  /** Of everything up to now; more may follow. */
  digest(): Sums
}

export function runningSums(): RunningSums {
  const hash = createHash('sha256')
  let crc = 0
  return {
    update(chunk) {
      hash.update(chunk)
      crc = crc32(chunk, crc)
    },
    digest: () => ({ sha256: hash.copy().digest('hex'), crc32: crc }),
  }
}

export async function sumsOf(bytes: Readable): Promise<Sums> {
  const sums = runningSums()
  try {
    for await (const chunk of bytes) sums.update(chunk)
  } catch (error) {
    throw asStorageFault(error)
  }
  return sums.digest()
}
