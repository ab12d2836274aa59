import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { RangeStream } from './range-stream.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants

/** What opening says of a name that is absent, a link, a socket, or below something not a folder. */
const NOT_A_FILE = new Set(['ENOENT', 'ELOOP', 'ENXIO', 'ENOTDIR', 'ENODEV'])

/** A regular file, examined through the descriptor it is then read from. */
export type OpenFile = { handle: FileHandle; stats: BigIntStats }

/**
 * Opens a regular file without following a link and without blocking on a FIFO or device.
 * The check and the reading share one descriptor, so a name swapped in between changes nothing.
 */
export async function openRegularFile(path: string): Promise<OpenFile | undefined> {
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY).catch(absent)
  if (!handle) return undefined
  try {
    const stats = await handle.stat({ bigint: true })
    if (stats.isFile()) return { handle, stats }
  } catch (error) {
    await handle.close()
    throw error
  }
  await handle.close()
  return undefined
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (!NOT_A_FILE.has(error.code ?? '')) throw error
}

/** Reads the bytes from `start` to `end`, both included, and closes the file when it is done. */
export function readRange(
  { handle }: OpenFile,
  start: number,
  end: number,
  options?: { largestChunkBytes: number },
): RangeStream {
  return new RangeStream(handle, start, end, options)
}

/** A strong validator: any write to the file, or another file in its place, changes it. */
export function entityTag({ ino, size, mtimeNs }: BigIntStats): string {
  return `"${ino.toString(36)}-${size.toString(36)}-${mtimeNs.toString(36)}"`
}
