import { lstat } from 'node:fs/promises'
import { join } from 'node:path'

/** Why a path is not one flat name. */
export type PathFault = 'invalid' | 'climbing' | 'absolute' | 'nested'

const LONGEST_NAME_BYTES = 255

/**
 * What keeps a text from being one flat name, worst first; `undefined` when it is one. Both
 * slashes separate, so a name means the same on every system.
 */
export function pathFault(path: string): PathFault | undefined {
  const parts = path.split(/[/\\]/)
  if (path.trim() === '' || !path.isWellFormed() || /\p{Cc}/u.test(path)) return 'invalid'
  if (parts.some((part) => Buffer.byteLength(part) > LONGEST_NAME_BYTES)) return 'invalid'
  if (climbs(parts)) return 'climbing'
  if (/^([/\\]|[A-Za-z]:[/\\])/.test(path)) return 'absolute'
  if (parts.length > 1 || path === '.') return 'nested'
  return undefined
}

/** Whether any prefix of the path is above where it starts. */
function climbs(parts: string[]): boolean {
  let depth = 0
  for (const part of parts) {
    if (part === '..') depth -= 1
    else if (part !== '' && part !== '.') depth += 1
    if (depth < 0) return true
  }
  return false
}

/** The part a symbolic link has in a path, when one has: the path could lead anywhere. */
export async function linkOnTheWay(root: string, relative: string): Promise<string | undefined> {
  let path = root
  for (const part of relative.split(/[/\\]/).filter((name) => name !== '' && name !== '.')) {
    path = join(path, part)
    const stats = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    if (!stats) return undefined
    if (stats.isSymbolicLink()) return part
  }
  return undefined
}
