import { readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@plinth/kit'

const SPOOLS = '.incoming'
const ABANDONED_SECONDS = 86_400

/**
 * Where this machine's uploads wait. Several machines may share a storage root, and a process
 * number says nothing about another machine's processes: each has a folder of its own.
 */
export function spoolFolderIn(root: string): string {
  return join(root, SPOOLS, hostname().replace(/[^\w.-]/g, '_') || 'host')
}

/** Removes what machines that never came back have left, by the file system's own time. */
export async function sweepAbandonedSpools(root: string): Promise<void> {
  const folder = join(root, SPOOLS)
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const oldest = systemClock().getTime() - ABANDONED_SECONDS * 1000
  for (const path of names
    .filter((name) => name.endsWith('.part'))
    .map((name) => join(folder, name))) {
    const { mtimeMs = oldest, nlink = 0 } = (await stat(path).catch(() => undefined)) ?? {}
    // A second name of a stored file is as old as that file; it takes no space beside it.
    if (mtimeMs < oldest && nlink === 1) await rm(path, { force: true })
  }
}
