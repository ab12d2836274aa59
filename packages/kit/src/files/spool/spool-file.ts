import { failPoint } from '../../runtime/fail-point.ts'
import {
  closeDescriptor,
  createTemporaryFile,
  type FileBytes,
  fileBytes,
  publishFile,
  removeTemporaryFile,
  syncDescriptor,
} from '../disk.ts'
import { openRegularFile, type RangeStream, readRange } from '../open-file.ts'
import { type Block, giveBack, type ReceivedBytes, takeBlock } from './blocks.ts'
import { type FileDigest, openFileDigest } from './digest.ts'
import { DirectWriter } from './direct-writer.ts'

/** Small enough that the slowest reader takes one before it is given up. */
const READ_BYTES = 2 ** 20

/** So many blocks of one file are written and hashed while more of it is received. */
const MOST_UNDER_WAY = 2

export type SpoolFileOptions = {
  sha256: boolean
  /**
   * It will be sent elsewhere and not published here: then it stays in the system's memory, which
   * is the quickest to read and to remove again. Otherwise a large file goes straight to the disk.
   */
  passedOn?: boolean
}

export async function openSpoolFile(path: string, options: SpoolFileOptions): Promise<SpoolFile> {
  return new SpoolFile(path, await createTemporaryFile(path), options)
}

/** The temporary file of an upload that is too large for memory. */
export class SpoolFile {
  readonly #path: string
  readonly #descriptor: number
  readonly #writer: DirectWriter
  readonly #hashed: boolean
  #digest: FileDigest | undefined
  #underWay: Promise<void>[] = []
  #written: Promise<void> = Promise.resolve()
  #finished: Promise<string | undefined> | undefined

  constructor(path: string, descriptor: number, options: SpoolFileOptions) {
    this.#path = path
    this.#descriptor = descriptor
    this.#hashed = options.sha256
    this.#writer = new DirectWriter(path, descriptor, !options.passedOn)
  }

  /** Takes so many bytes, one block at most, and begins to store them. Tells of earlier failures. */
  async append(received: ReceivedBytes, length: number, position: number): Promise<void> {
    if (this.#underWay.length === MOST_UNDER_WAY) await this.#underWay.shift()
    const block = await takeBlock()
    const storing = this.#store(block, received, { length, position }).finally(() =>
      giveBack(block),
    )
    storing.catch(() => {})
    this.#underWay.push(storing)
  }

  async #store(
    block: Block,
    received: ReceivedBytes,
    { length, position }: { length: number; position: number },
  ): Promise<void> {
    const bytes = block.bytes.subarray(0, length)
    received.moveInto(bytes)
    if (this.#hashed) this.#digest ??= openFileDigest()
    this.#written = this.#written.then(() => this.#writer.write(bytes, position))
    const work = [this.#written, this.#digest?.update(block, length)]
    await Promise.allSettled(work) // Neither may still use the block that is given back.
    await Promise.all(work)
  }

  /** All is written: its digest, when it was asked for. */
  finish(): Promise<string | undefined> {
    this.#finished ??= this.#finishDigest()
    return this.#finished
  }

  /** Also when a block was not stored: the thread must forget the file. */
  async #finishDigest(): Promise<string | undefined> {
    await Promise.allSettled(this.#underWay)
    const digest = this.#digest?.finish()
    digest?.catch(() => {}) // A block that was not stored is the better reason.
    await Promise.all(this.#underWay)
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
    await syncDescriptor(this.#descriptor)
    failPoint('upload:after-fsync')
    await publishFile(this.#path, target)
  }

  async close(): Promise<void> {
    await this.finish().catch(() => {})
    await Promise.allSettled([this.#writer.close(), closeDescriptor(this.#descriptor)])
  }

  remove(): Promise<void> {
    return removeTemporaryFile(this.#path)
  }
}
