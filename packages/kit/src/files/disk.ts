/**
 * File calls on plain descriptors, which cost half as much as a `FileHandle`: this matters when small
 * files arrive by the thousand. Nothing closes a leaked descriptor, and the number of a closed one may
 * be reused at once: close each exactly once, after its last use.
 */

import { randomUUID } from 'node:crypto'
import { close, constants, fsync, open, read, writev } from 'node:fs'
import { copyFile, mkdir, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { coalesce } from '../runtime/coalesce.ts'
import { giveFileToOwner, giveFolderToOwner } from '../runtime/data-folder.ts'
import { failPoint } from '../runtime/fail-point.ts'

export const openDescriptor = promisify(open)
export const readDescriptor = promisify(read)
const writeDescriptor = promisify(writev)
export const syncDescriptor = promisify(fsync)
export const closeDescriptor = promisify(close)

const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW, O_DSYNC } = constants
const NEW_FILE = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
const OWNER_ONLY = 0o600
const OWNER_ONLY_FOLDER = 0o700

/** Recreates a missing folder, but not its parent: if that is missing too, so is the whole storage. */
export async function createTemporaryFile(path: string, flags = 0): Promise<number> {
  const create = async () => {
    const descriptor = await openDescriptor(path, NEW_FILE | flags, OWNER_ONLY)
    giveFileToOwner(descriptor, dirname(path))
    return descriptor
  }
  return create().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    await mkdir(dirname(path), OWNER_ONLY_FOLDER).catch(ignoreExisting)
    giveFolderToOwner(dirname(path))
    return create()
  })
}

/** Another upload may have created the folder in the meantime. */
function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

export async function removeTemporaryFile(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

export async function writeBytes(
  descriptor: number,
  pieces: Uint8Array[],
  position: number,
): Promise<void> {
  failPoint('upload:write')
  const { bytesWritten } = await writeDescriptor(descriptor, pieces, position)
  if (bytesWritten === pieces.reduce((total, { length }) => total + length, 0)) return
  // A disk that fills up first accepts a part, then fails the rest with ENOSPC.
  const rest = Buffer.concat(pieces).subarray(bytesWritten)
  await writeBytes(descriptor, [rest], position + bytesWritten)
}

/** Stores a small file durably under its final name; a failure leaves nothing behind. */
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

/** With O_DSYNC the write also syncs: one thread pool call fewer for each small file. */
async function writeDurably(content: Uint8Array, path: string): Promise<void> {
  const descriptor = await createTemporaryFile(path, O_DSYNC)
  try {
    failPoint('upload:opened')
    failPoint('upload:before-fsync')
    await writeBytes(descriptor, [content], 0)
    failPoint('upload:after-fsync')
  } finally {
    await closeDescriptor(descriptor)
  }
}

/**
 * Renames a finished file durably to its final name, replacing any file of that name. A name that
 * cannot be made durable is removed again.
 */
export async function publishFile(temporary: string, target: string): Promise<void> {
  await renameOrCopy(temporary, target)
  try {
    failPoint('publish:named')
    await syncFolder(dirname(target))
  } catch (error) {
    await unlink(target).catch(() => {})
    throw error
  }
}

/** A file cannot be renamed across disks. */
async function renameOrCopy(source: string, target: string): Promise<void> {
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
    await sync(partial)
    await rename(partial, target)
    await unlink(source).catch(() => {}) // The next start sweeps it.
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** Removes a file durably; returns whether it existed. */
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

const folderSyncs = new Map<string, () => Promise<void>>()

/** Makes the names in a folder survive a power cut. Overlapping calls share an fsync. */
export function syncFolder(folder: string): Promise<void> {
  let syncing = folderSyncs.get(folder)
  if (!syncing) {
    syncing = coalesce(() => sync(folder))
    folderSyncs.set(folder, syncing)
  }
  return syncing()
}

async function sync(path: string): Promise<void> {
  const descriptor = await openDescriptor(path, 'r')
  try {
    await syncDescriptor(descriptor)
  } finally {
    await closeDescriptor(descriptor)
  }
}

/** Writes and removes a file: on a full or read-only disk, reads alone would keep succeeding. */
export async function probeFolder(folder: string): Promise<void> {
  const file = join(folder, PROBE)
  try {
    await writeFile(file, 'x', { flush: true, mode: OWNER_ONLY })
  } finally {
    await rm(file, { force: true })
  }
}

/** The same name at every start, so that killed processes leave at most one file. */
const PROBE = `.health-${hostname()}`

/** Enough for the signature of every file type. */
export const HEAD_BYTES = 64

/** Random access to the bytes of a file. */
export type FileBytes = {
  sizeBytes: number
  /** Returns fewer bytes than requested when the file ends first. */
  read(start: number, length: number): Promise<Buffer>
}

/** The head stays in memory, so that checking the signature needs no disk read. */
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

export function memoryBytes(content: Buffer): FileBytes {
  return {
    sizeBytes: content.length,
    read: async (start, length) =>
      content.subarray(Math.max(0, start), Math.max(0, start + length)),
  }
}
