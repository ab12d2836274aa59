import { randomUUID } from 'node:crypto'
import { copyFile, rename, rm, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { failPoint } from '../fail-point.ts'
import { closeDescriptor, openDescriptor, syncDescriptor } from './descriptors.ts'
import { groupRuns } from './grouped-run.ts'
import { createTemporaryFile, removeTemporaryFile, writeBytes } from './temporary-file.ts'

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
export async function syncFile(path: string): Promise<void> {
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
    await writeBytes(descriptor, content, 0)
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
