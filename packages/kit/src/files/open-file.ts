import { type BigIntStats, closeSync, constants, fstatSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { OutgoingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { http } from '../runtime/networks.ts'
import { openDescriptor, readDescriptor } from './disk.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants
const READ_SAFELY = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY

/** Error codes for a path that is absent, a link, a socket, or below something other than a folder. */
const NOT_A_FILE = new Set(['ENOENT', 'ELOOP', 'ENXIO', 'ENOTDIR', 'ENODEV'])

/** A regular file, checked through the descriptor it is then read from. */
export type OpenFile = { handle: FileHandle; stats: BigIntStats }

/**
 * Opens a regular file without following a link and without blocking on a FIFO or device.
 * The check and the reading share one descriptor, so swapping the name in between has no effect.
 */
export async function openRegularFile(path: string): Promise<OpenFile | undefined> {
  const handle = await open(path, READ_SAFELY).catch(absent)
  if (!handle) return undefined
  try {
    // The inode is in memory since the file was opened, so this does not wait for the disk.
    const stats = fstatSync(handle.fd, { bigint: true })
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

/** A strong validator: it changes with any write to the file and with any replacement of it. */
export function entityTag({ ino, size, mtimeNs }: BigIntStats): string {
  return `"${ino.toString(36)}-${size.toString(36)}-${mtimeNs.toString(36)}"`
}

/** Reads the bytes from `start` to `end`, both included, and closes the file afterwards. */
export function readRange({ handle }: OpenFile, start: number, end: number): RangeStream {
  return new RangeStream(handle, start, end)
}

/** Up to this many bytes are read at once, which needs fewer trips to the thread pool than a stream. */
const SMALL_BYTES = 64 * 1024

export function isSmall(start: number, end: number): boolean {
  return end - start < SMALL_BYTES
}

/** As `readRange`, for a small range. */
export async function readSmallRange(
  { handle }: OpenFile,
  start: number,
  end: number,
): Promise<Buffer> {
  try {
    const bytes = await readUpTo(handle.fd, start, end)
    if (bytes.length <= end - start) throw new Error(SHORTENED)
    return bytes
  } finally {
    await handle.close()
  }
}

/**
 * The bytes of a regular file from `start` to `end`, both included, or of all of it; `large` if they are too many
 * to be read at once. Fewer if the file ends first. Opens the file as `openRegularFile` does.
 */
export async function readSmallFile(
  path: string,
  range?: { start: number; end: number },
): Promise<Buffer | 'large' | undefined> {
  const descriptor = await openDescriptor(path, READ_SAFELY).catch(absent)
  if (descriptor === undefined) return undefined
  try {
    const stats = fstatSync(descriptor)
    if (!stats.isFile()) return undefined
    const { start, end } = range ?? { start: 0, end: stats.size - 1 }
    return isSmall(start, end) ? await readUpTo(descriptor, start, end) : 'large'
  } finally {
    // Nothing was written, so closing does not wait for the disk either.
    closeSync(descriptor)
  }
}

async function readUpTo(descriptor: number, start: number, end: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(end - start + 1)
  let read = 0
  // Usually once. A network disk may return less than there is.
  while (read < bytes.length) {
    const rest = bytes.length - read
    const { bytesRead } = await readDescriptor(descriptor, bytes, read, rest, start + read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return bytes.subarray(0, read)
}

const SHORTENED = 'The file became shorter while it was read.'

const CHUNK_BYTES = 256 * 1024

/**
 * The bytes of a file from `start` to `end`, both included; closes the file at the end.
 *
 * Piped to an HTTP message it alternates between two buffers, reading into one while the other is
 * sent, and makes no garbage: four times as fast as a plain pipe. Any other consumer may keep its
 * chunks, so it gets new buffers.
 */
export class RangeStream extends Readable {
  readonly #handle: FileHandle
  readonly #start: number
  #position: number
  readonly #end: number

  constructor(handle: FileHandle, start: number, end: number) {
    super({ highWaterMark: 1 }) // One chunk is read ahead, no more.
    this.#handle = handle
    this.#start = start
    this.#position = start
    this.#end = end
  }

  get bytesRead(): number {
    return this.#position - this.#start
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T, options?: { end?: boolean }): T {
    const direct = destination instanceof http.OutgoingMessage && this.readableFlowing === null
    if (!direct) return super.pipe(destination, options)
    this.once('end', () => options?.end !== false && destination.end())
    this.#sendTo(destination).catch((error) => this.destroy(error))
    return destination
  }

  async #sendTo(message: OutgoingMessage): Promise<void> {
    const buffers = [this.#newBuffer(), this.#newBuffer()] as const
    let ahead = this.#readInto(buffers[0])
    for (let turn = 1; ; turn += 1) {
      const chunk = await ahead
      if (!chunk) break
      // The other buffer was sent in the previous turn.
      ahead = this.#readInto(buffers[turn % 2 === 0 ? 0 : 1])
      ahead.catch(() => {}) // Reported when it is awaited.
      if (!(await sent(message, chunk))) return
    }
    this.push(null)
    this.resume()
  }

  /** For `passingChunks`. Ends with the file closed, also when its consumer stops early. */
  async *passing(buffers: Buffer[]): AsyncGenerator<Buffer> {
    while (buffers.length < 2) buffers.push(Buffer.allocUnsafeSlow(CHUNK_BYTES))
    const [one, other] = buffers as [Buffer, Buffer]
    let ahead = this.#readInto(one)
    try {
      for (let turn = 1; ; turn += 1) {
        const chunk = await ahead
        if (!chunk) return
        ahead = this.#readInto(turn % 2 === 0 ? one : other)
        ahead.catch(() => {}) // Reported when it is awaited.
        yield chunk
      }
    } finally {
      this.destroy()
    }
  }

  override _read(): void {
    this.#readInto(this.#newBuffer()).then(
      (chunk) => this.push(chunk ?? null),
      (error) => this.destroy(error),
    )
  }

  #newBuffer(): Buffer {
    const left = this.#end - this.#position + 1
    return Buffer.allocUnsafeSlow(Math.max(0, Math.min(CHUNK_BYTES, left)))
  }

  /** The next bytes, or `undefined` after the last. */
  async #readInto(buffer: Buffer): Promise<Buffer | undefined> {
    const length = Math.min(buffer.length, this.#end - this.#position + 1)
    if (length <= 0) return undefined
    const { bytesRead } = await this.#handle.read(buffer, 0, length, this.#position)
    this.#position += bytesRead
    // The length has been announced: a file that has shrunk since must not look complete.
    if (bytesRead === 0) throw new Error(SHORTENED)
    return buffer.subarray(0, bytesRead)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#handle.close().then(
      () => callback(error),
      (closing) => callback(error ?? closing),
    )
  }
}

/**
 * The chunks of a stream that nothing else reads. Each is valid until the next one is asked for: those of a file on
 * disk share two buffers, which are in `buffers` afterwards, for the next file.
 */
export function passingChunks(stream: Readable, buffers: Buffer[] = []): AsyncIterable<Buffer> {
  return stream instanceof RangeStream ? stream.passing(buffers) : stream
}

/**
 * A stream of chunks that are valid until the next one is asked for. Piped to an HTTP message, it asks for the next
 * when the one before was sent, so that nothing is copied. Any other consumer may keep its chunks, so it gets copies.
 */
export class PassingStream extends Readable {
  readonly #chunks: AsyncGenerator<Buffer>

  constructor(chunks: AsyncGenerator<Buffer>) {
    super({ highWaterMark: 1 })
    this.#chunks = chunks
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T, options?: { end?: boolean }): T {
    const direct = destination instanceof http.OutgoingMessage && this.readableFlowing === null
    if (!direct) return super.pipe(destination, options)
    this.once('end', () => options?.end !== false && destination.end())
    this.#sendTo(destination).catch((error) => this.destroy(error))
    return destination
  }

  async #sendTo(message: OutgoingMessage): Promise<void> {
    for await (const chunk of this.#chunks) if (!(await sent(message, chunk))) return
    this.push(null)
    this.resume()
  }

  override _read(): void {
    this.#chunks.next().then(
      ({ done, value }) => this.push(done ? null : Buffer.from(value)),
      (error) => this.destroy(error),
    )
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#chunks.return(undefined).then(
      () => callback(error),
      (ending) => callback(error ?? ending),
    )
  }
}

/** Whether the bytes were sent. If not, the message is closed and reports the error itself. */
function sent(message: OutgoingMessage, bytes: Buffer): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  message.write(bytes, (error) => resolve(!error))
  return promise
}
