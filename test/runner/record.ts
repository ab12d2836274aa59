import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome } from './outcome.ts'
import type { Part } from './parts.ts'

/**
 * What `--record` noted: how long the slow files take, so that they start first on a machine that has never run
 * them, and how many tests `npm test` leaves to `npm run test:all`.
 */
type Recorded = { leftOut: number; seconds: Record<string, number> }

const FILE = join(import.meta.dirname, 'recorded.json')
const UNKNOWN_SECONDS = 1
/** Not worth a line each. */
const MIN_SECONDS = 2

const recorded: Recorded = existsSync(FILE)
  ? JSON.parse(readFileSync(FILE, 'utf8'))
  : { leftOut: 0, seconds: {} }

export function secondsOf(path: string): number {
  return recorded.seconds[path] ?? UNKNOWN_SECONDS
}

/** How many tests are only in `npm run test:all`, or undefined if this part left none out. */
export function testsLeftOut(part: Part): number | undefined {
  return part === 'first' || part === 'fast' ? recorded.leftOut : undefined
}

export function updateRecord(part: Part, { passed, failed, skipped, seconds }: Outcome): void {
  const slow = Object.entries({ ...recorded.seconds, ...roundedOf(seconds) })
    .filter(([, took]) => took >= MIN_SECONDS)
    .sort(([a], [b]) => a.localeCompare(b))
  const leftOut = part === 'rest' ? passed + failed.length + skipped.length : recorded.leftOut
  const text = JSON.stringify({ leftOut, seconds: Object.fromEntries(slow) }, null, 2)
  writeFileSync(FILE, `${text}\n`)
}

function roundedOf(seconds: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(seconds).map(([path, took]) => [path, Math.round(took)]))
}
