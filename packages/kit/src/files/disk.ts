/**
 * File calls on plain descriptors, for where files come by the thousand: they cost half of what a
 * `FileHandle` costs. Nobody closes a forgotten descriptor, and a number that was closed may at once
 * be another file: whoever opens one ends it, once, after its last use.
 */

import { randomUUID } from 'node:crypto'
import { close, constants, fsync, open, read, writev } from 'node:fs'
import { copyFile, mkdir, rename, rm, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { failPoint } from '../runtime/fail-point.ts'

export const openDescriptor = promisify(open)

const readDescriptor = promisify(read)

const writeDescriptor = promisify(writev)

export const syncDescriptor = promisify(fsync)

export const closeDescriptor = promisify(close)

const folderSyncs = new Map<string, () => Promise<void>>()

/** Makes the names in a folder survive a power cut. Calls that overlap share one fsync. */
export function syncFolder(folder: string): Promise<void> {
  let sync = folderSyncs.get(folder)
  if (!sync) {
    sync = groupRuns(() => syncFile(folder))
    folderSyncs.set(folder, sync)
  }
  return sync()
}

/** Makes the bytes of a file survive a power cut, whoever wrote them. */
async function syncFile(path: string): Promise<void> {
  const descriptor = await openDescriptor(path, 'r')
  try {
    await syncDescriptor(descriptor)
  } finally {
    await closeDescriptor(descriptor)
  }
}

/**
 * Gives a finished file its final name for good; what had the name before is replaced. When the
 * name cannot be made to last, it is taken back.
 */
export async function publishFile(temporary: string, target: string): Promise<void> {
  await replaceName(temporary, target)
  try {
    failPoint('publish:named')
    await syncFolder(dirname(target))
  } catch (error) {
    await unlink(target).catch(() => {})
    throw error
  }
}

/** Puts a small file under its final name for good; nothing of it stays otherwise. */
export async function storeDurably(
  content: Uint8Array,
  temporary: string,
  target: string,
): Promise<void> {
  try {
    await writeDurably(content, temporary)
    await publishFile(temporary, target)
  } catch (error) {
    await removeTemporaryFile(temporary).catch(() => {}) // The first error is the one to report.
    throw error
  }
}

async function writeDurably(content: Uint8Array, path: string): Promise<void> {
  const descriptor = await createTemporaryFile(path)
  try {
    failPoint('upload:opened')
    await writeBytes(descriptor, [content], 0)
    failPoint('upload:before-fsync')
    await syncDescriptor(descriptor)
    failPoint('upload:after-fsync')
  } finally {
    await closeDescriptor(descriptor)
  }
}

/** Also from another disk, where a rename is not possible: then by way of a copy. */
async function replaceName(source: string, target: string): Promise<void> {
  try {
    await rename(source, target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await copyInto(source, target)
  }
}

async function copyInto(source: string, target: string): Promise<void> {
  const partial = `${target}.${randomUUID()}.partial`
  try {
    await copyFile(source, partial)
    await syncFile(partial)
    await rename(partial, target)
    await unlink(source).catch(() => {}) // At the latest the next start sweeps it away.
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** Removes a file for good; says whether there was one. */
export async function removeFile(path: string): Promise<boolean> {
  const removed = await unlink(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
  failPoint('remove:unlinked')
  if (removed) await syncFolder(dirname(path))
  return removed
}

/**
 * Makes a costly piece of work shareable: a call while a run is under way waits for the next one,
 * and all such calls share it. A run a caller is answered from always began after the call did.
 */
export function groupRuns<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  let next: Promise<T> | undefined

  const start = (): Promise<T> => {
    const run = work()
    running = run
    const ended = () => {
      if (running === run) running = undefined
    }
    run.then(ended, ended)
    return run
  }

  return () => {
    if (!running) return start()
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return start()
      })
    return next
  }
}

const OWNER_ONLY = 0o600

const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

/** Its folder may be gone, and is made anew; when that one's parent is gone, so is the storage. */
export async function createTemporaryFile(path: string): Promise<number> {
  const create = () => openDescriptor(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, OWNER_ONLY)
  return create().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    await mkdir(dirname(path)).catch(unlessThere)
    return create()
  })
}

/** Another upload was as quick. */
function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

export async function writeBytes(
  descriptor: number,
  pieces: Uint8Array[],
  position: number,
): Promise<void> {
  failPoint('upload:write')
  const { bytesWritten } = await writeDescriptor(descriptor, pieces, position)
  if (bytesWritten === pieces.reduce((total, { length }) => total + length, 0)) return
  // A disk that fills up takes a part first and says ENOSPC to the rest.
  const rest = Buffer.concat(pieces).subarray(bytesWritten)
  await writeBytes(descriptor, [rest], position + bytesWritten)
}

export async function removeTemporaryFile(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

/** What a signature takes. */
export const HEAD_BYTES = 64

/** A file that is looked at in places. */
export type FileBytes = {
  sizeBytes: number
  /** Fewer bytes than asked for when the file ends first. */
  read(start: number, length: number): Promise<Buffer>
}

/** With its first bytes at hand, most looks at a file need no disk. */
export function fileBytes(descriptor: number, sizeBytes: number, head: Buffer): FileBytes {
  return {
    sizeBytes,
    read: async (start, length) => {
      const from = Math.max(0, start)
      const end = Math.max(from, Math.min(start + length, sizeBytes))
      if (end <= head.length) return head.subarray(from, end)
      const buffer = Buffer.alloc(end - from)
      const { bytesRead } = await readDescriptor(descriptor, buffer, 0, buffer.length, from)
      return buffer.subarray(0, bytesRead)
    },
  }
}

/** A small file, all of which is at hand. */
export function memoryBytes(content: Buffer): FileBytes {
  return {
    sizeBytes: content.length,
    read: async (start, length) =>
      content.subarray(Math.max(0, start), Math.max(0, start + length)),
  }
}
