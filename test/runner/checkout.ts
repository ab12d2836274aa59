import { execFileSync } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NOTHING, type Outcome } from './outcome.ts'

const ROOT = join(import.meta.dirname, '../..')
const NAME = 'the tests left the checkout as it was'

type Snapshot = { compare(): Outcome }

/** The state of the checkout, to compare it with that after the tests: changed files, new files, and modes. */
export function snapshotOf(): Snapshot {
  const before = stateOf()
  const compare = () => {
    if (before === undefined) return NOTHING
    const after = stateOf() ?? new Map()
    const changed = [...new Set([...before.keys(), ...after.keys()])]
      .filter((path) => before.get(path) !== after.get(path))
      .map(
        (path) =>
          `    ${path}: ${before.get(path) ?? 'absent'}, then ${after.get(path) ?? 'absent'}`,
      )
    const failed = changed.length > 0 ? [`${NAME}\n${changed.join('\n')}`] : []
    for (const failure of failed) process.stdout.write(`✖ ${failure}\n`)
    return { ...NOTHING, passed: 1 - failed.length, failed }
  }
  return { compare }
}

/** The status and mode of each file, and the mode of its folder; undefined outside of a git checkout. */
function stateOf(): Map<string, string> | undefined {
  const tracked = git('ls-files', '-z')
  const status = git('status', '--porcelain', '-z')
  if (tracked === undefined || status === undefined) return undefined
  const state = new Map<string, string>()
  for (const line of status) state.set(line.slice(3), line.slice(0, 2).trim())
  for (const file of tracked)
    for (const path of [file, dirname(file)]) {
      const mode = lstatSync(join(ROOT, path), { throwIfNoEntry: false })?.mode
      state.set(`mode of ${path}`, mode?.toString(8) ?? 'none')
    }
  return state
}

function git(...args: string[]): string[] | undefined {
  try {
    const output = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' })
    return output.split('\0').filter(Boolean)
  } catch {
    return undefined // A checkout without git, such as an unpacked archive, cannot be compared.
  }
}
