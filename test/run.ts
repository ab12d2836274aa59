/**
 * `npm test`, `npm run test:all` and `npm run check`. Running a file, filtering by tag and reporting are left to
 * Node's own test runner. This program adds what that cannot do:
 * - a few files in each process: it knows only one process per file, which doubles the CPU time, or one for all
 * - the longest files first, next to the type checks, so that no core is idle
 * - one PostgreSQL for all processes, and temporary files in memory
 * - another try, alone, for a file that failed: a test that then passes is unstable, not broken
 * - a check that the tests left the checkout as it was, and one line with all totals
 */
import { availableParallelism } from 'node:os'
import { obtainChromium } from '../e2e/chromium.ts'
import { snapshotOf } from './runner/checkout.ts'
import { checks } from './runner/checks.ts'
import { endDescendants } from './runner/descendants.ts'
import { closingLines, hasFailed, type Outcome, outcomeOf } from './runner/outcome.ts'
import { filesOf, PARTS, type Part, tagsFor } from './runner/parts.ts'
import { providePostgres } from './runner/postgres.ts'
import { secondsOf, testsLeftOut, updateRecord } from './runner/record.ts'
import { runFiles } from './runner/run-files.ts'
import { provideTemporaryFolder } from './runner/temporary-folder.ts'

/** Tests wait for disks, timers and other processes, so more of them than there are cores keep the cores busy. */
const AT_ONCE = Math.ceil(availableParallelism() * 1.5)

const flags = process.argv.slice(2)
if (flags.includes('--help')) {
  for (const { flag, says } of Object.values(PARTS))
    console.log(`node test/run.ts ${flag}\t${says}`)
  console.log(
    '--except-root leaves out the tests that need root; --record notes how long each file took',
  )
  console.log('TEST_STRICT=on makes a skipped test a failure')
  process.exit(0)
}
const part = partOf(flags)
if (flags.includes('--record') && part !== 'first' && part !== 'rest') {
  console.error('✖ --record needs --first or --rest: each has durations of its own.')
  process.exit(64)
}
const strict = process.env.TEST_STRICT === 'on'
provideTemporaryFolder()
const files = filesOf(part)
const before = snapshotOf()
const outcomes: Outcome[] = []
// They need nothing of what follows, and while PostgreSQL starts there is nothing else to do.
const checked = PARTS[part].hasChecks ? [checks()] : []
const providing = providePostgres()
// Start now: the first browser test then finds it installed.
if (PARTS[part].hasBrowser) void obtainChromium()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt(signal))
const postgres = await providing

const work = [
  ...checked,
  runFiles({
    files: files.map((path) => ({
      path,
      tags: tagsFor(path, part),
      seconds: secondsOf(path, part),
    })),
    concurrency: AT_ONCE,
    env: { ...postgres.env, ...PARTS[part].env },
  }),
]
for (const each of work) outcomes.push(await each)
await postgres.stop()
outcomes.push(before.compare())

const outcome = outcomeOf(outcomes)
if (flags.includes('--record')) updateRecord(part, outcome)
process.stdout.write(closingLines(outcome, { strict, leftOut: testsLeftOut(part) }))
process.exit(hasFailed(outcome, strict) ? 1 : 0)

/** The last one given: `npm run test:all -- --rest` has both `--all` and `--rest`. */
function partOf(given: string[]): Part {
  const parts = Object.keys(PARTS) as Part[]
  return (
    given.map((flag) => parts.find((name) => PARTS[name].flag === flag)).findLast(Boolean) ??
    'first'
  )
}

async function interrupt(signal: NodeJS.Signals): Promise<void> {
  await (await providing).stop()
  process.stdout.write(`\nInterrupted.\n${closingLines(outcomeOf(outcomes), { strict })}`)
  // A signal to this process does not reach the test files or the services they started.
  endDescendants()
  process.exit(signal === 'SIGINT' ? 130 : 143)
}
