import type { FileHandle } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'

const LARGE_CHUNK_BYTES = 1024 * 1024
const SMALL_CHUNK_BYTES = 256 * 1024
/** With more streams than this, each takes less: their memory together stays small. */
const FEW_STREAMS = 4

let openStreams = 0

/**
 * The bytes of a file from `start` to `end`, both included; closes the file when it is done.
 *
 * Piped to one destination it reads into two buffers in turn and makes no garbage. That is sound
 * because a chunk is larger than what a response accepts at once: `pipe` then waits until a chunk
 * has been flushed before it hands over the next, and only then is the one after that read. Any
 * other consumer may keep its chunks and gets new buffers.
 */
export class RangeStream extends Readable {
  readonly #handle: FileHandle
  readonly #chunkBytes = openStreams < FEW_STREAMS ? LARGE_CHUNK_BYTES : SMALL_CHUNK_BYTES
  #position: number
  readonly #end: number
  #destinations = 0
  #reusing = false
  #buffers: Buffer[] = []

  constructor(handle: FileHandle, start: number, end: number) {
    // The least there is: one chunk is read ahead, no more.
    super({ highWaterMark: 1 })
    this.#handle = handle
    this.#position = start
    this.#end = end
    openStreams += 1
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T, options?: { end?: boolean }): T {
    this.#destinations += 1
    const { writableHighWaterMark = Number.POSITIVE_INFINITY } = destination as unknown as Writable
    this.#reusing = this.#destinations === 1 && writableHighWaterMark < this.#chunkBytes
    return super.pipe(destination, options)
  }

  override _read(): void {
    const length = Math.min(this.#chunkBytes, this.#end - this.#position + 1)
    if (length <= 0) {
      this.push(null)
      return
    }
    const buffer = this.#nextBuffer(length)
    this.#handle.read(buffer, 0, length, this.#position).then(
      ({ bytesRead }) => this.#deliver(buffer, bytesRead),
      (error) => this.destroy(error),
    )
  }

  #deliver(buffer: Buffer, bytesRead: number): void {
    this.#position += bytesRead
    // Less than asked for may be little enough for `pipe` not to wait until it has been flushed.
    if (bytesRead < this.#chunkBytes) this.#reusing = false
    if (bytesRead > 0) this.push(buffer.subarray(0, bytesRead))
    // The length has been promised: a file that shrank meanwhile must not look complete.
    else this.destroy(new Error('The file became shorter while it was read.'))
  }

  #nextBuffer(length: number): Buffer {
    if (!this.#reusing) return Buffer.allocUnsafeSlow(length)
    const buffer = this.#buffers.length < 2 ? Buffer.allocUnsafeSlow(length) : this.#buffers.shift()
    this.#buffers.push(buffer as Buffer)
    return buffer as Buffer
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    openStreams -= 1
    this.#handle.close().then(
      () => callback(error),
      (closing) => callback(error ?? closing),
    )
  }
}
