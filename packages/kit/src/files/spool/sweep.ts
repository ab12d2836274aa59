import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../runtime/clock.ts'
import { HOST_NAME } from './spool.ts'

const ABANDONED_SECONDS = 86_400

/** Removes what uploads of processes of this machine that are gone have left. */
export async function sweepSpools(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true })
  const entries = await readdir(folder, { withFileTypes: true })
  const leftovers = entries.filter((entry) => entry.isFile() && isLeftHere(entry.name))
  // Another process that starts now may be quicker.
  await Promise.all(leftovers.map(({ name }) => rm(join(folder, name), { force: true })))
  return leftovers.length
}

/** A process number says nothing about another machine's processes. */
function isLeftHere(name: string): boolean {
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

/** Removes what machines that never came back have left, by the file system's own time. */
export async function sweepOldSpools(folder: string): Promise<void> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const oldest = systemClock().getTime() - ABANDONED_SECONDS * 1000
  for (const path of names
    .filter((name) => name.endsWith('.part'))
    .map((name) => join(folder, name))) {
    const { mtimeMs = oldest } = (await stat(path).catch(() => undefined)) ?? {}
    if (mtimeMs < oldest) await rm(path, { force: true })
  }
}
