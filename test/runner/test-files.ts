import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { promisify } from 'node:util'
import { batchesOf } from './batches.ts'
import { joinPackages } from './joined/join.ts'
import { type Outcome, outcomeOf, type Skip } from './outcome.ts'

const ROOT = join(import.meta.dirname, '../..')
const TEST_TIMEOUT_MS = 300_000
const FILE_SECONDS = '600'
const COUNT_TIMEOUT_MS = 60_000
/** If more files fail, something is broken, not unstable. */
const MOST_FILES_AGAIN = 5
const LINES_OF_ERROR = 12
const CHARACTERS_OF_LINE = 200
/**
 * All files load much the same modules: a shared compile cache saves each process half a second. It is the one
 * that `npm start` uses, which the installation has filled, so that even the first processes profit.
 */
const COMPILED = join(ROOT, 'node_modules/.cache/plinth')

type TestRun = {
  files: string[]
  concurrency: number
  env: Record<string, string>
  inBatches?: boolean
}

export function testFiles(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules/**'] }).sort()
}

/**
 * Runs each file in its own process, or several together, and prints each test as it ends. Failed files run
 * once more, one process at a time: a test that passes then depends on the load of the machine, and is
 * reported as unstable.
 */
export async function runTestFiles(title: string, given: TestRun): Promise<Outcome> {
  const each = given.files.map((file) => resolve(ROOT, file))
  const files = given.inBatches ? batchesOf(each) : each
  const options = { ...given, files }
  const outcomes = await runOnce(title, options)
  const failed = [...outcomes].filter(([, { failed }]) => failed.length > 0)
  if (failed.length > 0 && failed.length <= MOST_FILES_AGAIN) {
    const files = failed.map(([file]) => file)
    const again = await runOnce(`${title}, failed files again`, {
      ...options,
      files,
      concurrency: 1,
    })
    for (const [file, before] of failed) {
      const alone = again.get(file)
      if (alone) outcomes.set(file, { ...alone, unstable: passedAlone(before, alone) })
    }
  }
  return outcomeOf([...outcomes.values()])
}

function passedAlone(before: Outcome, alone: Outcome): string[] {
  const failedAgain = new Set(alone.failed.map(firstLine))
  return before.failed.filter((failure) => !failedAgain.has(firstLine(failure)))
}

/** Returns the outcome of each file. */
async function runOnce(title: string, options: TestRun): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  if (options.files.length === 0) return outcomes
  process.stdout.write(`\n${title}\n`)
  const preload = await joinPackages()
  const env = {
    ...process.env,
    NODE_ENV: 'test',
    NODE_COMPILE_CACHE: COMPILED,
    TEST_FILE_SECONDS: FILE_SECONDS,
    TEST_PRELOAD: preload,
    ...options.env,
  }
  const stream = run({
    cwd: ROOT,
    files: options.files,
    concurrency: options.concurrency,
    env,
    timeout: TEST_TIMEOUT_MS,
    execArgv: ['--import', join(import.meta.dirname, 'file-deadline.ts'), '--import', preload],
  })
  const outcomeOfFile = (file = '') =>
    outcomes.getOrInsertComputed(file, () => ({ passed: 0, failed: [], unstable: [], skipped: [] }))
  const skippedSuites = new Map<string, Skip[]>()
  stream.on('test:pass', ({ name, skip, details, entryFile = '' }) => {
    const outcome = outcomeOfFile(entryFile)
    if (!skip) {
      if (details.type !== 'suite') outcome.passed += 1
      return
    }
    const skipped = { name, reason: skip === true ? 'no reason given' : skip, tests: 1 }
    outcome.skipped.push(skipped)
    if (details.type === 'suite') skippedSuites.getOrInsert(entryFile, []).push(skipped)
  })
  stream.on('test:fail', ({ name, file, entryFile, details }) => {
    if (details.type === 'suite' && isAboutSubtests(details.error)) return
    const place = `${name} (${relative(ROOT, file ?? '')})`
    outcomeOfFile(entryFile ?? file).failed.push(`${place}\n${beginningOf(details.error)}`)
  })
  for await (const text of stream.compose(spec)) process.stdout.write(text)
  for (const [file, suites] of skippedSuites) await countTests(file, suites, env)
  return outcomes
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

/** Node wraps the error of a test. Truncated, because a message may contain a whole page. */
function beginningOf({ message, cause }: Error): string {
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause ?? message)
  return text
    .split('\n')
    .slice(0, LINES_OF_ERROR)
    .map((line) => `    ${line.slice(0, CHARACTERS_OF_LINE)}`)
    .join('\n')
}

// The suite failed because a test in it failed, and that test is already counted.
function isAboutSubtests(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed'
}

/** Node reports a skipped suite as one test; this sets the real number of its tests. */
async function countTests(file: string, suites: Skip[], env: NodeJS.ProcessEnv): Promise<void> {
  const program = join(import.meta.dirname, 'skipped-suites.ts')
  const options = { env, timeout: COUNT_TIMEOUT_MS }
  const counting = promisify(execFile)(process.execPath, [program, file], options)
  const lines = await counting.then(
    ({ stdout }) => stdout.trim().split('\n'),
    () => ['[]'],
  )
  const counts: { name: string; tests: number }[] = JSON.parse(lines.at(-1) ?? '[]')
  for (const suite of suites) {
    const index = counts.findIndex(({ name }) => name === suite.name)
    if (index >= 0) suite.tests = counts.splice(index, 1)[0]?.tests || 1
  }
}
