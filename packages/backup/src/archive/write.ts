import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import { pack } from 'tar-stream'
import { BackupError } from '../faults.ts'
import { ENDING, type Ending, MANIFEST, type Manifest } from './manifest.ts'
import { sealing } from './sealed.ts'

export type ArchiveWriter = {
  text(name: string, text: string): Promise<void>
  /** `size` must be known in advance: it precedes the bytes in the archive. */
  file(name: string, size: number, bytes: Readable): Promise<void>
  finish(): Promise<void>
  abort(error: unknown): Promise<void>
}

const { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag } = constants
const PARAMS = { [ZSTD_c_compressionLevel]: 3, [ZSTD_c_checksumFlag]: 1 }
/** Files are readable by their owner alone, even when the archive is unpacked by hand. */
const MODE = 0o600

/** Writes members one after another, with only the current chunk in memory. A passphrase encrypts the whole archive. */
export async function openArchiveWriter(
  output: Writable,
  manifest: Manifest,
  passphrase?: string,
): Promise<ArchiveWriter> {
  const tar = pack()
  const zstd = createZstdCompress({ params: PARAMS })
  const written = passphrase
    ? pipeline(tar, zstd, sealing(passphrase), output)
    : pipeline(tar, zstd, output)
  written.catch(() => {})
  const digest = createHash('sha256')
  let members = 0

  const openEntry = async (header: Parameters<typeof tar.entry>[0]) => {
    try {
      // When the output fails, the entry fails with it: `written` reports that, and an unhandled event ends the process.
      return tar.entry(header).on('error', () => {})
    } catch (error) {
      await written
      throw error
    }
  }
  const add = async (name: string, size: number, bytes: Iterable<Buffer> | Readable) => {
    const mtime = new Date(manifest.createdAt)
    const entry = await openEntry({ name, size, mode: MODE, mtime })
    const content = createHash('sha256')
    let length = 0
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > size) throw changed(name)
      content.update(chunk)
      if (!entry.write(chunk)) await Promise.race([once(entry, 'drain'), written])
    }
    if (length !== size) throw changed(name)
    const ended = once(entry, 'finish')
    entry.end()
    await Promise.race([ended, written])
    members += 1
    digest.update(`${name} ${size} ${content.digest('hex')}\n`)
  }
  const text = (name: string, content: string) => {
    const bytes = Buffer.from(content)
    return add(name, bytes.length, [bytes])
  }

  await text(MANIFEST, `${JSON.stringify(manifest, null, 2)}\n`)
  return {
    text,
    file: add,
    finish: async () => {
      const ending: Ending = { members, sha256: digest.copy().digest('hex') }
      await text(ENDING, `${JSON.stringify(ending)}\n`)
      tar.finalize()
      await written
    },
    abort: async (error) => {
      tar.destroy(error as Error)
      await written.catch(() => {})
    },
  }
}

function changed(name: string): BackupError {
  return new BackupError('refused', `${name} changed while it was read. Run the backup again.`)
}
