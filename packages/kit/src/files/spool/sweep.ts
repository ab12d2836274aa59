import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DAY_SECONDS, systemClock } from '../../runtime/clock.ts'
import { giveFolderToOwner } from '../../runtime/data-folder.ts'
import { HOST_NAME } from './spool.ts'

const ABANDONED_SECONDS = DAY_SECONDS
const OWNER_ONLY = 0o700

/** Removes the temporary files left by processes of this machine that have ended. */
export async function sweepSpools(folder: string): Promise<number> {
  for (const each of [dirname(folder), folder]) await makeFolder(each)
  const entries = await readdir(folder, { withFileTypes: true })
  const leftovers = entries.filter((entry) => entry.isFile() && isLeftover(entry.name))
  // Another process that is starting may remove them first.
  await Promise.all(leftovers.map(({ name }) => rm(join(folder, name), { force: true })))
  return leftovers.length
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, OWNER_ONLY)
    giveFolderToOwner(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Process ids of another machine mean nothing here. */
function isLeftover(name: string): boolean {
  const [, digits, host] = /^(\d+)\.(.+)\.[^.]+\.part$/.exec(name) ?? []
  const pid = Number(digits)
  if (host !== HOST_NAME || !Number.isSafeInteger(pid)) return false
  return pid === process.pid || !isRunning(pid)
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Removes temporary files that are a day old, whichever machine left them. */
export async function sweepOldSpools(folder: string): Promise<void> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const oldest = systemClock().getTime() - ABANDONED_SECONDS * 1000
  for (const name of names.filter((name) => name.endsWith('.part'))) {
    const path = join(folder, name)
    const stats = await stat(path).catch(() => undefined)
    if (stats && stats.mtimeMs < oldest) await rm(path, { force: true })
  }
}
