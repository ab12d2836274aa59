import { hash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { failPoint } from '../fail-point.ts'
import { storeDurably } from './durable-write.ts'
import { type FileBytes, HEAD_BYTES, memoryBytes } from './file-bytes.ts'
import { openSpoolFile, type SpoolFile } from './spool-file.ts'

const LARGE_BATCH_BYTES = 512 * 1024
const SMALL_BATCH_BYTES = 128 * 1024
/** With more spools than this, each takes less: their memory together stays small. */
const FEW_SPOOLS = 4
/** Bytes that come one by one are written before their wrapping fills the memory. */
const MOST_PIECES = 1024
const NOTHING = Buffer.alloc(0)

export type SpoolOptions = {
  sha256: boolean
  /**
   * True when nothing is said: then a large file is brought to the disk as it comes. What is sent
   * elsewhere stays in the system's memory, because that is the quickest to remove again.
   */
  toBePublished?: boolean
  /** Also a small file gets its path. */
  onDisk?: boolean
}

let openSpools = 0

/** The name says which process is writing, so that a sweep leaves a neighbour's uploads alone. */
export function spoolPath(folder: string): string {
  return join(folder, `${process.pid}.${randomUUID()}.part`)
}

/** How far it has come shows whether its reader is stuck. */
export type SpoolReading = Readable & { readonly bytesRead: number }

/**
 * A file that is being received: in memory while it is small, in a temporary file as soon as it is
 * not. Then one batch goes to disk while the next is received. Dispose of it (`await using`): unless
 * it was published, nothing of it stays.
 */
export class Spool implements AsyncDisposable {
  readonly path: string
  sizeBytes = 0
  sha256: string | undefined
  readonly #options: SpoolOptions
  #head = Buffer.alloc(0)
  #content = NOTHING
  #file: Promise<SpoolFile> | undefined
  #published = false
  readonly #batchLimitBytes = openSpools < FEW_SPOOLS ? LARGE_BATCH_BYTES : SMALL_BATCH_BYTES
  #batch: Buffer[] = []
  #batchBytes = 0
  #writing: Promise<unknown> = Promise.resolve()

  constructor(folder: string, options: SpoolOptions) {
    this.path = spoolPath(folder)
    this.#options = options
    openSpools += 1
  }

  /**
   * Takes the bytes over: they are gone once they are written. A promise only when a batch is full
   * and the caller has to wait for the one before.
   */
  write(bytes: Buffer): Promise<unknown> | undefined {
    if (this.sizeBytes === 0) this.#head = Buffer.from(bytes.subarray(0, HEAD_BYTES))
    this.#batch.push(bytes)
    this.#batchBytes += bytes.length
    this.sizeBytes += bytes.length
    const full = this.#batchBytes >= this.#batchLimitBytes || this.#batch.length >= MOST_PIECES
    return full ? this.#flush() : undefined
  }

  /** All has been received. */
  async finish(): Promise<void> {
    if (!this.#file && !this.#options.onDisk) return this.#keepInMemory()
    this.#flush()
    await this.#writing
    this.sha256 = await (await this.#file)?.finish()
  }

  #keepInMemory(): void {
    this.#content = Buffer.concat(this.#batch)
    this.#batch = []
    if (this.#options.sha256) this.sha256 = hash('sha256', this.#content)
  }

  /** Until the batch before is on disk; this one then follows. */
  #flush(): Promise<unknown> {
    const [batch, position] = [this.#batch, this.sizeBytes - this.#batchBytes]
    const before = this.#writing
    this.#batch = []
    this.#batchBytes = 0
    this.#file ??= openSpoolFile(this.path, this.#options)
    const file = this.#file
    this.#writing = before.then(async () => (await file).append(batch, position))
    // A failure is reported by whoever waits next; until then it is not an unhandled one.
    this.#writing.catch(() => {})
    return before
  }

  /** To be looked at until it is published or disposed of. */
  async bytes(): Promise<FileBytes> {
    const file = await this.#file
    return file ? file.bytes(this.sizeBytes, this.#head) : memoryBytes(this.#content)
  }

  /** All of it from the beginning, as often as needed until it is published. */
  async read(): Promise<SpoolReading> {
    const file = await this.#file
    if (file) return file.read(this.sizeBytes)
    return Object.assign(Readable.from([this.#content]), { bytesRead: this.sizeBytes })
  }

  /** Makes the content durable under its final name: one that nothing else can have. */
  async publish(target: string): Promise<void> {
    const file = await this.#file
    if (file) await file.publish(target)
    else await storeDurably(this.#content, this.path, target)
    this.#published = true
    failPoint('upload:published')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    openSpools -= 1
    this.#content = NOTHING
    await this.#writing.catch(() => {})
    const file = await this.#file?.catch(() => undefined)
    await file?.close().catch(() => {})
    // What cannot be removed now is swept away at the next start.
    if (!this.#published) await file?.remove().catch(() => {})
  }
}
