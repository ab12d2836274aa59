import { mkdir, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'

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
