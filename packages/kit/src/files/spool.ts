import { createHash, type Hash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { failPoint } from '../fail-point.ts'

const BATCH_BYTES = 256 * 1024
const OWNER_ONLY = 0o600
const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

/** A temporary file that is being written: batches go to disk while the next one is received. */
export type Spool = {
  path: string
  handle: FileHandle
  sizeBytes: number
  write(bytes: Buffer): Promise<void> | undefined
  finish(): Promise<void>
  sha256(): string | undefined
  discard(): Promise<void>
}

/** The name says which process is writing, so that a sweep leaves a neighbour's uploads alone. */
export async function openSpool(folder: string, options: { sha256: boolean }): Promise<Spool> {
  const path = join(folder, `${process.pid}.${randomUUID()}.part`)
  const create = () => open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, OWNER_ONLY)
  const handle = await create().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    // Only this folder is made anew: when its parent is gone, so is the storage.
    await mkdir(folder)
    return create()
  })
  return new FileSpool(path, handle, options.sha256 ? createHash('sha256') : undefined)
}

class FileSpool implements Spool {
  readonly path: string
  readonly handle: FileHandle
  sizeBytes = 0
  readonly #hash: Hash | undefined
  #batch: Buffer[] = []
  #batchBytes = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(path: string, handle: FileHandle, hash: Hash | undefined) {
    this.path = path
    this.handle = handle
    this.#hash = hash
  }

  /** Returns a promise only when the disk is behind and the caller should wait. */
  write(bytes: Buffer): Promise<void> | undefined {
    this.#hash?.update(bytes)
    this.#batch.push(bytes)
    this.#batchBytes += bytes.length
    this.sizeBytes += bytes.length
    return this.#batchBytes >= BATCH_BYTES ? this.#flush() : undefined
  }

  async finish(): Promise<void> {
    await this.#flush()
    await this.#writing
  }

  sha256(): string | undefined {
    return this.#hash?.digest('hex')
  }

  async #flush(): Promise<void> {
    const [batch, position] = [this.#batch, this.sizeBytes - this.#batchBytes]
    this.#batch = []
    this.#batchBytes = 0
    await this.#writing
    this.#writing = writeAll(this.handle, batch, position)
    // A failure is reported by whoever waits next; until then it is not an unhandled one.
    this.#writing.catch(() => {})
  }

  async discard(): Promise<void> {
    await this.#writing.catch(() => {})
    await this.handle.close().catch(() => {})
    await unlink(this.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
}

async function writeAll(handle: FileHandle, batch: Buffer[], position: number): Promise<void> {
  if (batch.length === 0) return
  failPoint('upload:write')
  const { bytesWritten } = await handle.writev(batch, position)
  const total = batch.reduce((sum, bytes) => sum + bytes.length, 0)
  if (bytesWritten === total) return
  // A disk that fills up takes a part first and says ENOSPC to the rest.
  const rest = Buffer.concat(batch).subarray(bytesWritten)
  await writeAll(handle, [rest], position + bytesWritten)
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
