/**
 * `npm test`: type check, lint, architecture, unit and HTTP tests and end-to-end tests, on servers that it
 * obtains and stops itself. The last line has the totals.
 * `npm run check` (`--fast`) skips the end-to-end tests and tries fewer random inputs.
 * `--pgbouncer` runs only the tests of services and packages, with PostgreSQL behind PgBouncer in transaction
 * mode as the only engine.
 * `TEST_STRICT=on` makes a skipped test a failure.
 */
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { obtainChromium } from '../e2e/chromium.ts'
import { checks } from './runner/checks.ts'
import { keepTemporaryFilesInMemory } from './runner/memory-folder.ts'
import { closingLines, hasFailed, type Outcome, outcomeOf } from './runner/outcome.ts'
import { providePooledPostgres, providePostgres } from './runner/postgres.ts'
import { runTestFiles, testFiles } from './runner/test-files.ts'

const AT_ONCE = availableParallelism() + 1
const IN_BATCHES = { concurrency: AT_ONCE, inBatches: true }
/** The longest files go first; started last, they would run alone for a minute or two. */
const LONGEST = ['test/pgbouncer.test.ts', 'e2e/package.test.ts', 'e2e/consoles/reference.test.ts']

if (process.argv.includes('--help')) {
  console.log('npm test runs everything; npm run check skips the end-to-end tests.')
  console.log('npm test -- --pgbouncer runs the tests on PostgreSQL through PgBouncer.')
  console.log('TEST_STRICT=on makes a skipped test a failure.')
  process.exit(0)
}
const fast = process.argv.includes('--fast')
const pooled = process.argv.includes('--pgbouncer')
const strict = process.env.TEST_STRICT === 'on'
keepTemporaryFilesInMemory()
const postgres = await (pooled ? providePooledPostgres() : providePostgres())
// Start installing now: the tests before the first that needs it take longer than the installation.
const chromium = fast || pooled ? undefined : obtainChromium()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt(signal))

const outcomes: Outcome[] = []
for (const step of steps()) outcomes.push(await step())
await postgres.stop()

const outcome = outcomeOf(outcomes)
process.stdout.write(closingLines(outcome, strict))
process.exit(hasFailed(outcome, strict) ? 1 : 0)

async function interrupt(signal: NodeJS.Signals): Promise<void> {
  await postgres.stop()
  process.stdout.write(`\nInterrupted.\n${closingLines(outcomeOf(outcomes), strict)}`)
  // A signal to this process does not reach the test files or the services they started.
  for (const pid of descendantsOf(process.pid)) end(pid)
  process.exit(signal === 'SIGINT' ? 130 : 143)
}

/** All descendants of a process. */
function descendantsOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  const children = existsSync(file) ? (readFileSync(file, 'utf8').match(/\d+/g) ?? []) : []
  return children.map(Number).flatMap((child) => [child, ...descendantsOf(child)])
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // It has already exited.
  }
}

function steps(): (() => Promise<Outcome>)[] {
  const architecture = testFiles('test/architecture*.test.ts')
  if (pooled) {
    const files = testFiles('{packages,services}/**/*.test.ts')
    return [() => run('On PostgreSQL, through PgBouncer', files, IN_BATCHES)]
  }
  const inside = testFiles('{packages,services,launcher,cli,bench,test}/**/*.test.ts')
    .filter((file) => !architecture.includes(file))
    .sort(longestFirst)
  const endToEnd = fast ? [] : testFiles('e2e/**/*.test.ts').sort(longestFirst)
  return [
    checks,
    () => run('Architecture', architecture),
    () => run('Tests', inside, IN_BATCHES),
    async () =>
      run(
        'End to end',
        endToEnd,
        { concurrency: AT_ONCE },
        { E2E_CHROMIUM: (await chromium) ?? '' },
      ),
  ]
}

function longestFirst(a: string, b: string): number {
  return Number(LONGEST.includes(b)) - Number(LONGEST.includes(a))
}

function run(
  title: string,
  files: string[],
  how: { concurrency: number; inBatches?: boolean } = { concurrency: 1 },
  also: Record<string, string> = {},
): Promise<Outcome> {
  const env = { ...postgres.env, ...also, ...(fast && { PROPERTY_RUNS_DIVISOR: '10' }) }
  return runTestFiles(title, { files, env, ...how })
}
