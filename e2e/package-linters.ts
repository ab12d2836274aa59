import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

const COMMANDS = {
  publint: ['publint@0.3.25', '--strict'],
  attw: ['@arethetypeswrong/cli@0.18.5', '--profile', 'esm-only'],
}
const MAX_MS = 3 * 60_000

type Linter = keyof typeof COMMANDS

export const LINTERS = Object.keys(COMMANDS) as Linter[]

/** The output of a linter for a packed package. A finding has a non-zero exit code, which throws. */
export async function lint(linter: Linter, tarball: string): Promise<string> {
  const [name = '', ...words] = COMMANDS[linter]
  const command = ['exec', '--yes', `--package=${name}`, '--', linter, ...words, tarball]
  const surroundings = { cwd: dirname(tarball), timeout: MAX_MS }
  return (await promisify(execFile)('npm', command, surroundings)).stdout
}
