/**
 * `npm test`: type check, lint, architecture, unit and HTTP tests, end-to-end tests, on servers it
 * obtains and stops itself. The last line is the sum of all of them.
 * `npm run check` (`--fast`) leaves the end-to-end tests out and tries fewer random inputs.
 */
import { availableParallelism } from 'node:os'
import { lint, typeCheck } from './checks.ts'
import { closingLines, type Outcome, outcomeOf } from './outcome.ts'
import { providePostgres } from './provide-postgres.ts'
import { runTestFiles, testFiles } from './test-files.ts'

const fast = process.argv.includes('--fast')
const interruption = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => interruption.abort(signal))

const outcomes: Outcome[] = []
const postgres = await providePostgres()
try {
  for (const step of steps()) {
    if (interruption.signal.aborted) break
    outcomes.push(await step())
  }
} finally {
  await postgres.stop()
}

const outcome = outcomeOf(outcomes)
if (interruption.signal.aborted) process.stdout.write('\nInterrupted.\n')
process.stdout.write(closingLines(outcome))
process.exit(outcome.failed.length > 0 || interruption.signal.aborted ? 1 : 0)

function steps(): (() => Promise<Outcome>)[] {
  const architecture = testFiles('test/architecture.test.ts')
  const inside = testFiles('{packages,services,launcher,bench,test}/**/*.test.ts').filter(
    (file) => !architecture.includes(file),
  )
  // Each end-to-end file runs a whole stack, most of them a browser too.
  const endToEnd = fast ? [] : testFiles('e2e/**/*.test.ts')
  return [
    typeCheck,
    lint,
    () => run('Architecture', architecture),
    () => run('Tests', inside, Math.max(2, availableParallelism())),
    () => run('End to end', endToEnd),
  ]
}

function run(title: string, files: string[], concurrency = 1): Promise<Outcome> {
  const env = { ...postgres.env, ...(fast && { PROPERTY_RUNS_DIVISOR: '10' }) }
  return runTestFiles(title, { files, concurrency, env, signal: interruption.signal })
}
