import { createHash, type Hash, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { failPoint } from '../../runtime/fail-point.ts'
import {
  closeDescriptor,
  createTemporaryFile,
  type FileBytes,
  fileBytes,
  HEAD_BYTES,
  memoryBytes,
  publishFile,
  removeTemporaryFile,
  storeDurably,
  syncDescriptor,
  writeBytes,
} from '../disk.ts'
import { openRegularFile, readRange } from '../open-file.ts'

/** How much is collected before it is written. A smaller file stays in memory. */
const BATCH_BYTES = 256 * 1024

/** Tiny pieces are joined before their overhead takes more memory than their content. */
const MAX_PIECES = 1024

const NOTHING = Buffer.alloc(0)

/** Part of the name of a temporary file: several machines may share a folder. */
export const HOST_NAME = hostname().replace(/[^\w.-]/g, '_') || 'host'

export type SpoolOptions = {
  sha256: boolean
  /** As in ZIP archives. */
  crc32?: boolean
  /** Write even a small file to disk. */
  onDisk?: boolean
}

/** `bytesRead` shows whether its consumer is stuck. */
export type SpoolReading = Readable & { readonly bytesRead: number }

/**
 * A file that is being received: in memory while it is small, then in a temporary file. One batch is
 * written while the next arrives. Dispose of it (`await using`): unless it was published, that removes
 * it.
 */
export class Spool implements AsyncDisposable {
  readonly path: string
  sizeBytes = 0
  sha256: string | undefined
  crc32: number | undefined
  readonly #options: SpoolOptions
  readonly #hash: Hash | undefined
  #head = NOTHING
  #pieces: Buffer[] = []
  #batchBytes = 0
  #content = NOTHING
  #descriptor: Promise<number> | undefined
  #written: Promise<void> = Promise.resolve()
  #published = false

  constructor(folder: string, options: SpoolOptions) {
    // The name tells a sweep which process writes the file.
    this.path = join(folder, `${process.pid}.${HOST_NAME}.${randomUUID()}.part`)
    this.#options = options
    if (options.sha256) this.#hash = createHash('sha256')
    if (options.crc32) this.crc32 = 0
  }

  /** Takes ownership of the bytes. Returns a promise when the caller must wait before writing more. */
  write(bytes: Buffer): Promise<void> | undefined {
    if (bytes.length === 0) return undefined
    if (this.sizeBytes === 0) this.#head = Buffer.from(bytes.subarray(0, HEAD_BYTES))
    this.sizeBytes += bytes.length
    this.#batchBytes += bytes.length
    if (this.#pieces.push(bytes) === MAX_PIECES) this.#pieces = [joined(this.#pieces)]
    if (this.#batchBytes < BATCH_BYTES) return undefined
    const before = this.#written
    this.#writeBatch()
    return before
  }

  /** To be called when everything has been received. */
  async finish(): Promise<void> {
    if (!this.#descriptor && !this.#options.onDisk) return this.#keepInMemory()
    this.#writeBatch()
    await this.#written
    this.sha256 = this.#hash?.digest('hex')
  }

  #keepInMemory(): void {
    this.#content = joined(this.#pieces.splice(0))
    this.#sum(this.#content)
    this.sha256 = this.#hash?.digest('hex')
  }

  #sum(bytes: Buffer): void {
    this.#hash?.update(bytes)
    if (this.crc32 !== undefined) this.crc32 = crc32(bytes, this.crc32)
  }

  #writeBatch(): void {
    const pieces = this.#pieces.splice(0)
    const position = this.sizeBytes - this.#batchBytes
    this.#batchBytes = 0
    for (const piece of pieces) this.#sum(piece)
    this.#descriptor ??= createTemporaryFile(this.path)
    const descriptor = this.#descriptor
    this.#written = this.#written.then(async () => {
      await writeBytes(await descriptor, pieces, position)
      for (const piece of pieces) release(piece)
    })
    // The next caller that awaits this gets the failure; until then it must not count as unhandled.
    this.#written.catch(() => {})
  }

  /** Readable until it is published or disposed of. */
  async bytes(): Promise<FileBytes> {
    const descriptor = await this.#descriptor
    if (descriptor === undefined) return memoryBytes(this.#content)
    return fileBytes(descriptor, this.sizeBytes, this.#head)
  }

  /** Reads the whole content, any number of times until it is published. */
  async read(): Promise<SpoolReading> {
    if (!this.#descriptor)
      return Object.assign(Readable.from([this.#content]), { bytesRead: this.sizeBytes })
    const file = await openRegularFile(this.path)
    if (!file) throw new Error('The temporary file no longer exists.')
    return readRange(file, 0, this.sizeBytes - 1)
  }

  /** Makes the content durable under its final name, which nothing else may have. */
  async publish(target: string): Promise<void> {
    const descriptor = await this.#descriptor
    if (descriptor === undefined) await storeDurably(this.#content, this.path, target)
    else await this.#publishFile(descriptor, target)
    this.#published = true
    failPoint('upload:published')
  }

  async #publishFile(descriptor: number, target: string): Promise<void> {
    failPoint('upload:before-fsync')
    await syncDescriptor(descriptor)
    failPoint('upload:after-fsync')
    await publishFile(this.path, target)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#content = NOTHING
    await this.#written.catch(() => {})
    const descriptor = await this.#descriptor?.catch(() => undefined)
    if (descriptor === undefined) return
    await closeDescriptor(descriptor).catch(() => {})
    // A file that cannot be removed now is swept at the next start.
    if (!this.#published) await removeTemporaryFile(this.path).catch(() => {})
  }
}

function joined(pieces: Buffer[]): Buffer<ArrayBuffer> {
  const whole = Buffer.concat(pieces)
  for (const piece of pieces) release(piece)
  return whole
}

/**
 * Frees the memory of received bytes at once. The garbage collector would let many megabytes of them
 * pile up and then scan the whole heap. A slice of a larger buffer is still left to it.
 */
export function release({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
