import { createHash, type Hash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { failPoint } from '../fail-point.ts'

const LARGE_BATCH_BYTES = 1024 * 1024
const SMALL_BATCH_BYTES = 64 * 1024
/** With more spools than this, each takes less: their memory together stays small. */
const FEW_SPOOLS = 2
const OWNER_ONLY = 0o600
const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

let openSpools = 0

export type SpoolOptions = { sha256: boolean; expectedBytes: number }

/** The name says which process is writing, so that a sweep leaves a neighbour's uploads alone. */
export async function openSpool(folder: string, options: SpoolOptions): Promise<Spool> {
  const path = join(folder, `${process.pid}.${randomUUID()}.part`)
  const create = () => open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, OWNER_ONLY)
  const handle = await create().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    // Only this folder is made anew: when its parent is gone, so is the storage.
    await mkdir(folder)
    return create()
  })
  return new Spool(path, handle, options)
}

/**
 * A temporary file that is being written: one batch goes to disk while the next is received.
 * Bytes are copied, so that what the network brought can be freed while it is still young.
 */
export class Spool {
  readonly path: string
  readonly handle: FileHandle
  sizeBytes = 0
  readonly #hash: Hash | undefined
  readonly #batchBytes: number
  #batch: Buffer
  #spare: Buffer | undefined
  #filled = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(path: string, handle: FileHandle, { sha256, expectedBytes }: SpoolOptions) {
    this.path = path
    this.handle = handle
    this.#hash = sha256 ? createHash('sha256') : undefined
    const batchBytes = openSpools < FEW_SPOOLS ? LARGE_BATCH_BYTES : SMALL_BATCH_BYTES
    this.#batchBytes = Math.max(1, Math.min(batchBytes, expectedBytes))
    this.#batch = Buffer.allocUnsafeSlow(this.#batchBytes)
    openSpools += 1
  }

  async write(bytes: Buffer): Promise<void> {
    this.#hash?.update(bytes)
    for (let taken = 0; taken < bytes.length; ) {
      const copied = bytes.copy(this.#batch, this.#filled, taken)
      taken += copied
      this.#filled += copied
      this.sizeBytes += copied
      if (this.#filled === this.#batchBytes) await this.#flush()
    }
  }

  async finish(): Promise<void> {
    if (this.#filled > 0) await this.#flush()
    await this.#writing
  }

  sha256(): string | undefined {
    return this.#hash?.digest('hex')
  }

  /** Waits for the batch before, so that at most two are in memory. */
  async #flush(): Promise<void> {
    await this.#writing
    const [batch, position] = [this.#batch.subarray(0, this.#filled), this.sizeBytes - this.#filled]
    this.#writing = writeAll(this.handle, batch, position)
    // A failure is reported by whoever waits next; until then it is not an unhandled one.
    this.#writing.catch(() => {})
    const next = this.#spare ?? Buffer.allocUnsafeSlow(this.#batchBytes)
    this.#spare = this.#batch
    this.#batch = next
    this.#filled = 0
  }

  /** For a file that has been published. */
  async close(): Promise<void> {
    openSpools -= 1
    await this.handle.close()
  }

  async discard(): Promise<void> {
    await this.#writing.catch(() => {})
    await this.close().catch(() => {})
    await unlink(this.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
}

/** A disk that fills up takes a part first and says ENOSPC to the rest. */
async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  failPoint('upload:write')
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, written, undefined, position + written)
    written += bytesWritten
  }
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
