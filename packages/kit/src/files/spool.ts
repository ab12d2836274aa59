import { hash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { failPoint } from '../fail-point.ts'
import { closeDescriptor, openDescriptor, syncDescriptor, writeDescriptor } from './descriptors.ts'
import { type FileDigest, openFileDigest } from './digest-worker.ts'
import { type FileBytes, fileBytes } from './file-bytes.ts'

const LARGE_BATCH_BYTES = 512 * 1024
const SMALL_BATCH_BYTES = 128 * 1024
/** With more spools than this, each takes less: their memory together stays small. */
const FEW_SPOOLS = 4
/** Bytes that come one by one are written before their wrapping fills the memory. */
const MOST_PIECES = 1024
/** What a signature takes. */
const HEAD_BYTES = 64
const OWNER_ONLY = 0o600
const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

let openSpools = 0

/** The name says which process is writing, so that a sweep leaves a neighbour's uploads alone. */
export async function openSpool(folder: string, options: { sha256: boolean }): Promise<Spool> {
  const path = join(folder, `${process.pid}.${randomUUID()}.part`)
  const create = () => openDescriptor(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, OWNER_ONLY)
  const descriptor = await create().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    // Only this folder is made anew: when its parent is gone, so is the storage.
    await mkdir(folder).catch(unlessThere)
    return create()
  })
  return new Spool(path, descriptor, options.sha256)
}

/** Another upload was as quick. */
function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/** A temporary file that is being written: one batch goes to disk while the next is received. */
export class Spool {
  readonly path: string
  sizeBytes = 0
  readonly #descriptor: number
  #head = Buffer.alloc(0)
  readonly #hashed: boolean
  #digest: FileDigest | undefined
  #digesting: Promise<void> = Promise.resolve()
  #sha256: string | undefined
  readonly #batchLimitBytes = openSpools < FEW_SPOOLS ? LARGE_BATCH_BYTES : SMALL_BATCH_BYTES
  #batch: Buffer[] = []
  #batchBytes = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(path: string, descriptor: number, hashed: boolean) {
    this.path = path
    this.#descriptor = descriptor
    this.#hashed = hashed
    openSpools += 1
  }

  /**
   * Takes the bytes over: they are gone once they are written. A promise only when a batch is full
   * and the caller has to wait for the one before.
   */
  write(bytes: Buffer): Promise<void> | undefined {
    if (this.sizeBytes === 0) this.#head = Buffer.from(bytes.subarray(0, HEAD_BYTES))
    this.#batch.push(bytes)
    this.#batchBytes += bytes.length
    this.sizeBytes += bytes.length
    const full = this.#batchBytes >= this.#batchLimitBytes || this.#batch.length >= MOST_PIECES
    if (!full) return undefined
    if (this.#hashed) this.#digest ??= openFileDigest()
    return this.#flush()
  }

  async finish(): Promise<void> {
    if (this.#hashed && !this.#digest) this.#sha256 = hash('sha256', Buffer.concat(this.#batch))
    await this.#flush()
    await this.#writing
    if (this.#digest) this.#sha256 = await this.#digest.finish()
  }

  /** Makes what was written survive a power cut. */
  sync(): Promise<void> {
    return syncDescriptor(this.#descriptor)
  }

  /** What was written, for looking at. */
  bytes(): FileBytes {
    return fileBytes(this.#descriptor, this.sizeBytes, this.#head)
  }

  sha256(): string | undefined {
    return this.#sha256
  }

  /** Until the batch before is on disk; this one then follows. */
  #flush(): Promise<void> {
    const [batch, position] = [this.#batch, this.sizeBytes - this.#batchBytes]
    const before = this.#writing
    this.#batch = []
    this.#batchBytes = 0
    this.#writing = before.then(() => this.#writeBatch(batch, position))
    // A failure is reported by whoever waits next; until then it is not an unhandled one.
    this.#writing.catch(() => {})
    return before
  }

  /** One batch may be hashed while the next is written. */
  async #writeBatch(batch: Buffer[], position: number): Promise<void> {
    await writeAll(this.#descriptor, batch, position)
    await this.#digesting
    if (!this.#digest) return batch.forEach(release)
    this.#digesting = this.#digest.update(batch)
    this.#digesting.catch(() => {})
  }

  /** For a file that has been published. */
  async close(): Promise<void> {
    openSpools -= 1
    await closeDescriptor(this.#descriptor)
  }

  async discard(): Promise<void> {
    await this.#writing.catch(() => {})
    this.#digest?.finish().catch(() => {})
    await this.close().catch(() => {})
    await unlink(this.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
}

async function writeAll(descriptor: number, batch: Buffer[], position: number): Promise<void> {
  if (batch.length === 0) return
  failPoint('upload:write')
  const { bytesWritten } = await writeDescriptor(descriptor, batch, position)
  const total = batch.reduce((sum, bytes) => sum + bytes.length, 0)
  if (bytesWritten === total) return
  // A disk that fills up takes a part first and says ENOSPC to the rest.
  const rest = Buffer.concat(batch).subarray(bytesWritten)
  await writeAll(descriptor, [rest], position + bytesWritten)
}

/**
 * Gives the memory of received bytes back at once. V8 would let many megabytes of them pile up and
 * then go through the whole heap for them. A part of a larger buffer is left to it all the same.
 */
function release({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** Removes what uploads of processes that are gone have left. */
export async function sweepSpools(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true })
  const leftovers = (await readdir(folder)).filter((name) => !isWrittenByAnother(name))
  await Promise.all(leftovers.map((name) => unlink(join(folder, name))))
  return leftovers.length
}

function isWrittenByAnother(name: string): boolean {
  const pid = Number(/^(\d+)\..*\.part$/.exec(name)?.[1] ?? Number.NaN)
  if (Number.isNaN(pid)) return false
  if (pid === process.pid) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
