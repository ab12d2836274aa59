import { randomUUID } from 'node:crypto'
import { copyFile, link, open, rename, rm, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { failPoint } from '../fail-point.ts'
import { groupRuns } from './grouped-run.ts'

/** File systems that know no hard links answer with one of these. */
const NO_HARD_LINKS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'])

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
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Gives a finished file its final name for good. A name that is taken is refused (EEXIST) unless
 * it may be replaced. When the name cannot be made to last, it is taken back.
 */
export async function publishFile(
  temporary: string,
  target: string,
  { replace = false } = {},
): Promise<void> {
  await (replace ? replaceName(temporary, target) : giveName(temporary, target))
  try {
    failPoint('publish:named')
    await syncFolder(dirname(target))
  } catch (error) {
    await unlink(target).catch(() => {})
    throw error
  }
}

/** A link, unlike a rename, refuses to replace what is already there (EEXIST). */
async function giveName(temporary: string, target: string): Promise<void> {
  try {
    await link(temporary, target)
  } catch (error) {
    if (!NO_HARD_LINKS.has((error as NodeJS.ErrnoException).code ?? '')) throw error
    return rename(temporary, target)
  }
  failPoint('publish:linked')
  await unlink(temporary)
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
