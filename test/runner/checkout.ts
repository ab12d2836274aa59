import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NOTHING, type Outcome } from './outcome.ts'

const ROOT = join(import.meta.dirname, '../..')
const NAME = 'the tests left the checkout as it was'
const MAX_LIST_BYTES = 64 * 1024 * 1024

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

/** The status and mode of each file, and the modes of its folders; undefined without git, as in an unpacked archive. */
function stateOf(): Map<string, string> | undefined {
  if (!existsSync(join(ROOT, '.git')) || spawnSync('git', ['--version']).error) return undefined
  const state = new Map<string, string>()
  for (const line of git('status', '--porcelain', '-z'))
    state.set(line.slice(3), line.slice(0, 2).trim())
  for (const path of new Set(git('ls-files', '-z').flatMap(withFolders))) {
    const mode = lstatSync(join(ROOT, path), { throwIfNoEntry: false })?.mode
    state.set(`mode of ${path}`, mode?.toString(8) ?? 'none')
  }
  return state
}

function withFolders(path: string): string[] {
  return path === '.' ? [path] : [path, ...withFolders(dirname(path))]
}

function git(...args: string[]): string[] {
  // Root runs some tests in a checkout that belongs to somebody else, which git would refuse.
  const output = execFileSync('git', ['-c', 'safe.directory=*', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: MAX_LIST_BYTES,
  })
  return output.split('\0').filter(Boolean)
}
