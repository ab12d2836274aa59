import { hash, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { failPoint } from '../../runtime/fail-point.ts'
import { type FileBytes, HEAD_BYTES, memoryBytes, storeDurably } from '../disk.ts'
import { BLOCK_BYTES, ReceivedBytes } from './blocks.ts'
import { openSpoolFile, type SpoolFile, type SpoolFileOptions } from './spool-file.ts'

/**
 * So much is gathered before it goes to disk. Not 512 KB: batches of that size get pages of that size
 * in the system's cache, and these the host of a virtual machine takes back whenever they are free.
 */
const BATCH_BYTES = 448 * 1024

const SMALL_BATCH_BYTES = 128 * 1024

/** With more spools than this, each takes less: their memory together stays small. */
const FEW_SPOOLS = 4

const NOTHING = Buffer.alloc(0)

/** Several machines may share a folder. */
export const HOST_NAME = hostname().replace(/[^\w.-]/g, '_') || 'host'

export type SpoolOptions = SpoolFileOptions & {
  /** Also a small file gets its path. */
  onDisk?: boolean
}

let openSpools = 0

/**
 * The name says which process is writing, so that a sweep leaves a neighbour's uploads alone. Its
 * number comes first: that is where the sweep of earlier versions looks.
 */
export function spoolPath(folder: string): string {
  return join(folder, `${process.pid}.${HOST_NAME}.${randomUUID()}.part`)
}

/** How far it has come shows whether its reader is stuck. */
export type SpoolReading = Readable & { readonly bytesRead: number }

/**
 * A file that is being received: in memory while it is small, in a temporary file as soon as it is
 * not. Then some of it goes to disk while more is received. Dispose of it (`await using`): unless
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
  readonly #few = openSpools < FEW_SPOOLS
  readonly #received = new ReceivedBytes()
  #waitingBytes = 0
  #appended: Promise<void> = Promise.resolve()

  constructor(folder: string, options: SpoolOptions) {
    this.path = spoolPath(folder)
    this.#options = options
    openSpools += 1
  }

  /** Takes the bytes over. A promise when the caller has to wait before the next ones. */
  write(bytes: Buffer): Promise<void> | undefined {
    if (bytes.length === 0) return undefined
    if (this.sizeBytes === 0) this.#head = Buffer.from(bytes.subarray(0, HEAD_BYTES))
    this.sizeBytes += bytes.length
    this.#waitingBytes += bytes.length
    this.#received.push(bytes)
    if (this.#waitingBytes < this.#batchBytes) return undefined
    while (this.#waitingBytes >= this.#batchBytes) this.#append(this.#batchBytes)
    return this.#appended
  }

  get #batchBytes(): number {
    if (!this.#few) return SMALL_BATCH_BYTES
    return this.#file && !this.#options.passedOn ? BLOCK_BYTES : BATCH_BYTES
  }

  /** All has been received. */
  async finish(): Promise<void> {
    if (!this.#file && !this.#options.onDisk) return this.#keepInMemory()
    if (this.#waitingBytes > 0 || !this.#file) this.#append(this.#waitingBytes)
    await this.#appended
    this.sha256 = await (await this.#file)?.finish()
  }

  #keepInMemory(): void {
    this.#content = Buffer.allocUnsafe(this.sizeBytes)
    this.#received.moveInto(this.#content)
    if (this.#options.sha256) this.sha256 = hash('sha256', this.#content)
  }

  #append(length: number): void {
    const position = this.sizeBytes - this.#waitingBytes
    this.#waitingBytes -= length
    this.#file ??= openSpoolFile(this.path, this.#options)
    const file = this.#file
    this.#appended = this.#appended.then(async () =>
      (await file).append(this.#received, length, position),
    )
    // A failure is reported by whoever waits next; until then it is not an unhandled one.
    this.#appended.catch(() => {})
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
    await this.#appended.catch(() => {})
    const file = await this.#file?.catch(() => undefined)
    await file?.close().catch(() => {})
    // What cannot be removed now is swept away at the next start.
    if (!this.#published) await file?.remove().catch(() => {})
  }
}
