import { constants, fdatasync, fstatSync, ftruncate } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { giveFileToOwner, giveFolderToOwner } from '../runtime/data-folder.ts'
import { failPoint } from '../runtime/fail-point.ts'
import { closeDescriptor, openDescriptor, readDescriptor, syncFolder, writeBytes } from './disk.ts'
import { release } from './spool/spool.ts'

const syncData = promisify(fdatasync)
const cutTo = promisify(ftruncate)

const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants
const OWNER_ONLY = 0o600
const OWNER_ONLY_FOLDER = 0o700

/** How much is collected before it is written. */
const APPENDED_BYTES = 256 * 1024

/** Tiny pieces are written before their overhead takes more memory than their content. */
const MAX_PIECES = 1024

/**
 * A file that grows over several requests. One batch is written while the next arrives. Nothing counts until `sync`:
 * the next to open the file says how much of it did, and the rest is cut off.
 */
export class AppendFile implements AsyncDisposable {
  readonly #path: string
  readonly #descriptor: number
  readonly #isNew: boolean
  #end: number
  #pieces: Buffer[] = []
  #batchBytes = 0
  #written: Promise<void> = Promise.resolve()

  private constructor(path: string, descriptor: number, { end, isNew }: Opened) {
    this.#path = path
    this.#descriptor = descriptor
    this.#end = end
    this.#isNew = isNew
  }

  /** Creates the file, and its folder, if nothing of it counts yet. Fails with ENOENT if bytes that count are gone. */
  static async open(path: string, sizeBytes: number): Promise<AppendFile> {
    const descriptor = await (sizeBytes === 0 ? createFile(path) : openExisting(path))
    try {
      const { size } = fstatSync(descriptor)
      if (size < sizeBytes) throw shortened()
      if (size > sizeBytes) await cutTo(descriptor, sizeBytes)
      return new AppendFile(path, descriptor, { end: sizeBytes, isNew: sizeBytes === 0 })
    } catch (error) {
      await closeDescriptor(descriptor)
      throw error
    }
  }

  /** Takes ownership of the bytes. Returns a promise when the caller must wait before writing more. */
  write(bytes: Buffer): Promise<void> | undefined {
    if (bytes.length === 0) return undefined
    this.#batchBytes += bytes.length
    const isFull = this.#pieces.push(bytes) === MAX_PIECES || this.#batchBytes >= APPENDED_BYTES
    if (!isFull) return undefined
    const before = this.#written
    this.#writeBatch()
    return before
  }

  #writeBatch(): void {
    const pieces = this.#pieces.splice(0)
    const position = this.#end
    this.#end += this.#batchBytes
    this.#batchBytes = 0
    this.#written = this.#written.then(async () => {
      await writeBytes(this.#descriptor, pieces, position)
      for (const piece of pieces) release(piece)
    })
    // The next caller that awaits this gets the failure; until then it must not count as unhandled.
    this.#written.catch(() => {})
  }

  /** Everything written so far survives a power cut. */
  async sync(): Promise<void> {
    if (this.#pieces.length > 0) this.#writeBatch()
    await this.#written
    failPoint('append:written')
    await syncData(this.#descriptor)
    if (this.#isNew) await syncFolder(dirname(this.#path))
    failPoint('append:synced')
  }

  /** Only what was there when the file was opened, or has been synced since. */
  async read(start: number, length: number): Promise<Buffer> {
    const buffer = Buffer.alloc(length)
    const { bytesRead } = await readDescriptor(this.#descriptor, buffer, 0, length, start)
    return buffer.subarray(0, bytesRead)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Already thrown to the caller that waited for it.
    await this.#written.catch(() => {})
    await closeDescriptor(this.#descriptor)
  }
}

type Opened = { end: number; isNew: boolean }

function openExisting(path: string): Promise<number> {
  return openDescriptor(path, O_RDWR | O_NOFOLLOW)
}

/** Recreates a missing folder, but not its parent: if that is missing too, its disk is not mounted. */
async function createFile(path: string): Promise<number> {
  const create = async () => {
    const descriptor = await openDescriptor(path, O_RDWR | O_CREAT | O_NOFOLLOW, OWNER_ONLY)
    giveFileToOwner(descriptor, dirname(path))
    return descriptor
  }
  return create().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    const folder = dirname(path)
    await mkdir(folder, OWNER_ONLY_FOLDER).catch((failure: NodeJS.ErrnoException) => {
      if (failure.code !== 'EEXIST') throw failure
    })
    giveFolderToOwner(folder)
    await syncFolder(dirname(folder))
    return create()
  })
}

function shortened(): Error {
  const message = 'The file is shorter than what was acknowledged of it'
  return Object.assign(new Error(message), { code: 'ESHORT', syscall: 'fstat' })
}
