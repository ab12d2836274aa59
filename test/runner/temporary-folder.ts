import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const ENOUGH_BYTES = 6e9
const OWN = join(import.meta.dirname, '../../.cache/tmp')

/**
 * A folder for the temporary files of this process and its children. In memory if there is enough: databases then
 * never wait for the disk, which makes the tests a quarter faster, and files in memory survive a killed process, too.
 * In the checkout if nothing else may be written.
 */
export function provideTemporaryFolder(): void {
  if (process.env.TMPDIR !== undefined) return
  const folder = mkdtempSync(join(parentFolder(), 'plinth-tests-'))
  // A test that drops root privileges must be able to read it.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
  process.once('exit', () => removeAll(folder))
}

function parentFolder(): string {
  if (isUsableMemory()) return MEMORY
  if (isWritable(tmpdir())) return tmpdir()
  mkdirSync(OWN, { recursive: true })
  return OWN
}

function isUsableMemory(): boolean {
  if (!existsSync(MEMORY) || !isWritable(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === MEMORY)
  return bavail * bsize > ENOUGH_BYTES && mount !== undefined && !/\bnoexec\b/.test(mount)
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** After an interruption, processes that are ending may still write there. */
function removeAll(folder: string): void {
  try {
    makeWritable(folder)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  } catch (error) {
    process.stderr.write(`${folder} could not be removed: ${(error as Error).message}\n`)
  }
}

/** A killed test may leave folders that not even their owner may change. */
function makeWritable(folder: string): void {
  const mode = lstatSync(folder, { throwIfNoEntry: false })?.mode
  if (mode === undefined) return
  if ((mode & 0o700) !== 0o700) chmodSync(folder, 0o700)
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) makeWritable(join(folder, entry.name))
}
