import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome } from './outcome.ts'
import type { Part } from './parts.ts'

/**
 * What `--record` noted: how long the slow files take, so that they start first on a machine that has never run
 * them, and how many tests `npm test` leaves to `npm run test:all`.
 */
type Seconds = Record<string, number>
type Recorded = { leftOut: number; first: Seconds; rest: Seconds }

const FILE = join(import.meta.dirname, 'recorded.json')
const UNKNOWN_SECONDS = 1
/** Not worth a line each. */
const MIN_SECONDS = 2

const recorded: Recorded = existsSync(FILE)
  ? JSON.parse(readFileSync(FILE, 'utf8'))
  : { leftOut: 0, first: {}, rest: {} }

/** The tests of one file may be in both parts: those of the other engine take longer. */
export function secondsOf(path: string, part: Part): number {
  const { first, rest } = recorded
  const took = { first: [first], fast: [first], rest: [rest], all: [first, rest], root: [] }[part]
  const known = took.flatMap((seconds) => seconds[path] ?? [])
  return known.reduce((sum, seconds) => sum + seconds, 0) || UNKNOWN_SECONDS
}

/** How many tests are only in `npm run test:all`, or undefined if this part left none out. */
export function testsLeftOut(part: Part): number | undefined {
  return part === 'first' || part === 'fast' ? recorded.leftOut : undefined
}

export function updateRecord(part: Part, { passed, failed, skipped, seconds }: Outcome): void {
  const updated = { ...recorded }
  if (part === 'first') updated.first = slowOf(seconds)
  if (part === 'rest') {
    updated.rest = slowOf(seconds)
    updated.leftOut = passed + failed.length + skipped.length
  }
  const text = JSON.stringify(updated, null, 2)
  writeFileSync(FILE, `${text}\n`)
}

function slowOf(seconds: Seconds): Seconds {
  const slow = Object.entries(seconds)
    .map(([path, took]): [string, number] => [path, Math.round(took)])
    .filter(([, took]) => took >= MIN_SECONDS)
  return Object.fromEntries(slow.sort(([a], [b]) => a.localeCompare(b)))
}
