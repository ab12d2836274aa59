import { link, open, rename, unlink } from 'node:fs/promises'
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
    sync = groupRuns(() => syncNow(folder))
    folderSyncs.set(folder, sync)
  }
  return sync()
}

async function syncNow(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Gives a finished file its final name, on the same file system, for good. When it cannot be made
 * to last, the name is taken back.
 */
export async function publishFile(temporary: string, target: string): Promise<void> {
  await giveName(temporary, target)
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
