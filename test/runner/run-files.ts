import { readFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { type Batch, batchesOf, eachAlone, type TestFile } from './batches.ts'
import { describeFailure, describeProcess } from './failure.ts'
import { joinPackages } from './joined/join.ts'
import { NOTHING, type Outcome, outcomeOf } from './outcome.ts'

const ROOT = join(import.meta.dirname, '../..')
const TEST_TIMEOUT_MS = 900_000
const FILE_SECONDS = '1800'
/** If more processes fail, something is broken, not unstable. */
const MAX_TRIED_AGAIN = 20
/**
 * All files load much the same modules: a shared compile cache saves each process half a second. It is the one
 * that `npm start` uses, which the installation has filled, so that even the first processes profit.
 */
const COMPILED = join(ROOT, 'node_modules/.cache/plinth')

type TestRun = { files: TestFile[]; concurrency: number; env?: Record<string, string> }

/**
 * Runs the files, several processes at a time, and prints a line for each file and every failure at once. Processes
 * with a failed test run once more, one at a time: a test that passes then depends on the load of the machine, and
 * is reported as unstable.
 */
export async function runFiles({ files, concurrency, env = {} }: TestRun): Promise<Outcome> {
  const preload = await joinPackages()
  const start = (batch: Batch) => runBatch(batch, { ...env, TEST_PRELOAD: preload })
  const waiting = batchesOf(files)
  const outcomes = new Map<Batch, Outcome>()
  const worker = async () => {
    for (let batch = waiting.shift(); batch; batch = waiting.shift()) {
      const outcome = await start(batch)
      if (outcome === 'not loaded') waiting.unshift(...eachAlone(batch))
      else outcomes.set(batch, outcome)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))

  const failed = [...outcomes].filter(([, { failed }]) => failed.length > 0)
  if (failed.length > MAX_TRIED_AGAIN) return outcomeOf([...outcomes.values()])
  for (const [batch, first] of failed) {
    process.stdout.write(`\nOnce more, alone: ${namesOf(batch)}\n`)
    const second = await start(batch)
    if (second === 'not loaded') continue
    outcomes.set(batch, { ...second, unstable: onlyIn(first.failed, second.failed) })
  }
  return outcomeOf([...outcomes.values()])
}

/** The failures of the first try that the second does not repeat; the first line names the test. */
function onlyIn(first: string[], second: string[]): string[] {
  const again = new Set(second.map(firstLine))
  return first.filter((failure) => !again.has(firstLine(failure)))
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

/** If a process of several files fails before its first test, one of the files cannot be loaded. */
async function runBatch(
  batch: Batch,
  also: Record<string, string>,
): Promise<Outcome | 'not loaded'> {
  const env = {
    ...process.env,
    NODE_ENV: 'test',
    NODE_COMPILE_CACHE: COMPILED,
    TEST_FILE_SECONDS: FILE_SECONDS,
    ...also,
  }
  const stream = run({
    cwd: ROOT,
    files: [batch.module],
    env,
    timeout: TEST_TIMEOUT_MS,
    ...(batch.tags && { testTagFilters: [batch.tags] }),
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      ...['--import', join(import.meta.dirname, 'test-process.ts')],
      ...['--import', also.TEST_PRELOAD ?? ''],
    ],
  })
  const outcome: Outcome = structuredClone(NOTHING)
  const counts = new Map<string, number>()
  const alone = batch.files.length === 1 ? batch.files[0]?.path : undefined
  let isLoaded = true
  stream.on('test:pass', ({ name, skip, details, nesting, file = batch.module }) => {
    // Node reports a file in which no test has the wanted tags as one test.
    if (resolve(ROOT, name) === batch.module) return
    // A test may be defined in a module that several files share.
    const path = alone ?? relative(ROOT, file)
    if (nesting === 0) add(outcome.seconds, path, details.duration_ms / 1000)
    if (skip) outcome.skipped.push({ name, reason: skip === true ? 'no reason given' : skip })
    else if (details.type !== 'suite') {
      outcome.passed += 1
      counts.set(path, (counts.get(path) ?? 0) + 1)
    }
  })
  stream.on('test:fail', ({ name, file = batch.module, details }) => {
    if (details.type === 'suite' && isAboutSubtests(details.error)) return
    const isProcess = resolve(ROOT, name) === batch.module
    const failure = isProcess
      ? describeProcess(namesOf(batch), details.error)
      : describeFailure(name, entriesOf(batch, file), details.error)
    if (isProcess && alone === undefined && outcome.passed + outcome.failed.length === 0) {
      isLoaded = false
      return
    }
    outcome.failed.push(failure)
    process.stdout.write(`✖ ${failure}\n`)
  })
  stream.on('test:stderr', ({ message }) => process.stderr.write(message))
  // An error after its test has ended fails only the file.
  stream.on('test:diagnostic', ({ message }) => {
    if (message.startsWith('Error: ')) process.stderr.write(`${message}\n`)
  })
  for await (const _ of stream);
  if (!isLoaded) return 'not loaded'
  for (const [path, count] of counts) {
    const seconds = (outcome.seconds[path] ?? 0).toFixed(1)
    process.stdout.write(`✔ ${path}: ${count} in ${seconds} s\n`)
  }
  return outcome
}

/** The test files to run for a test of this module, which several of them may share. */
function entriesOf({ files }: Batch, module: string): string[] {
  const paths = files.map(({ path }) => path)
  const own = paths.filter((path) => resolve(ROOT, path) === resolve(ROOT, module))
  if (own.length > 0) return own
  const importing = paths.filter((path) =>
    readFileSync(resolve(ROOT, path), 'utf8').includes(basename(module)),
  )
  return importing.length > 0 ? importing : paths
}

function add(sums: Record<string, number>, key: string, value: number): void {
  sums[key] = (sums[key] ?? 0) + value
}

function namesOf({ files }: Batch): string {
  return files.map(({ path }) => path).join(' ')
}

// The suite failed because a test in it failed, and that test is already counted.
function isAboutSubtests(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed'
}
