import { failPoint } from '../fail-point.ts'
import { closeDescriptor, syncDescriptor } from './descriptors.ts'
import { type FileDigest, openFileDigest } from './digest-worker.ts'
import { publishFile } from './durable-write.ts'
import { type FileBytes, fileBytes } from './file-bytes.ts'
import { openRegularFile, readRange } from './open-file.ts'
import type { RangeStream } from './range-stream.ts'
import type { SpoolOptions } from './spool.ts'
import { createTemporaryFile, removeTemporaryFile, writePieces } from './temporary-file.ts'

/** Small enough that the slowest reader takes one before it is given up. */
const READ_BYTES = 2 ** 20
/** The disk begins to write while more is received, instead of all at the end. */
const EARLY_SYNC_BYTES = 16 * 2 ** 20

export async function openSpoolFile(path: string, options: SpoolOptions): Promise<SpoolFile> {
  return new SpoolFile(path, await createTemporaryFile(path), options)
}

/** The temporary file of an upload that is too large for memory. */
export class SpoolFile {
  readonly #path: string
  readonly #descriptor: number
  readonly #options: SpoolOptions
  #digest: FileDigest | undefined
  #digesting: Promise<void> = Promise.resolve()
  #finished: Promise<string | undefined> | undefined
  #unsyncedBytes = 0
  #syncing: Promise<void> | undefined
  #syncFault: unknown

  constructor(path: string, descriptor: number, options: SpoolOptions) {
    this.#path = path
    this.#descriptor = descriptor
    this.#options = options
  }

  /** Takes the pieces over. One batch may be hashed while the next is written. */
  async append(pieces: Buffer[], position: number): Promise<void> {
    await writePieces(this.#descriptor, pieces, position)
    this.#unsyncedBytes += pieces.reduce((sum, { length }) => sum + length, 0)
    if (this.#options.toBePublished ?? true) this.#syncEarly()
    await this.#digesting
    if (!this.#options.sha256) return pieces.forEach(release)
    this.#digest ??= openFileDigest()
    this.#digesting = this.#digest.update(pieces)
    this.#digesting.catch(() => {})
  }

  /** A failure counts at the end: the system tells of it only once. */
  #syncEarly(): void {
    if (this.#unsyncedBytes < EARLY_SYNC_BYTES || this.#syncing) return
    this.#unsyncedBytes = 0
    this.#syncing = syncDescriptor(this.#descriptor)
      .catch((error) => {
        this.#syncFault ??= error
      })
      .finally(() => {
        this.#syncing = undefined
      })
  }

  /** All is written: its digest, when it was asked for. */
  finish(): Promise<string | undefined> {
    this.#finished ??= this.#finishDigest()
    return this.#finished
  }

  /** Also when a batch could not be hashed: the thread must forget the file. */
  async #finishDigest(): Promise<string | undefined> {
    const hashed = await this.#digesting.then(
      () => true,
      () => false,
    )
    const digest = await this.#digest?.finish()
    if (!hashed) throw new Error('The digest of an upload was lost.')
    return digest
  }

  bytes(sizeBytes: number, head: Buffer): FileBytes {
    return fileBytes(this.#descriptor, sizeBytes, head)
  }

  async read(sizeBytes: number): Promise<RangeStream> {
    const file = await openRegularFile(this.#path)
    if (!file) throw new Error('A temporary file is gone.')
    return readRange(file, 0, sizeBytes - 1, { largestChunkBytes: READ_BYTES })
  }

  async publish(target: string): Promise<void> {
    failPoint('upload:before-fsync')
    await this.#syncing
    if (this.#syncFault) throw this.#syncFault
    await syncDescriptor(this.#descriptor)
    failPoint('upload:after-fsync')
    await publishFile(this.#path, target)
  }

  async close(): Promise<void> {
    await this.finish().catch(() => {})
    await this.#syncing
    await closeDescriptor(this.#descriptor)
  }

  remove(): Promise<void> {
    return removeTemporaryFile(this.#path)
  }
}

/**
 * Gives the memory of received bytes back at once. V8 would let many megabytes of them pile up and
 * then go through the whole heap for them. A part of a larger buffer is left to it all the same.
 */
function release({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
