import { globSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import type { Outcome } from './outcome.ts'

const ROOT = join(import.meta.dirname, '..')
const FILE_TIMEOUT_MS = 600_000

type TestRun = {
  files: string[]
  concurrency: number
  env: Record<string, string>
}

export function testFiles(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules/**'] }).sort()
}

/** Runs every file in a process of its own and shows each test as it ends. */
export async function runTestFiles(title: string, options: TestRun): Promise<Outcome> {
  const outcome: Outcome = { passed: 0, failed: [], skipped: [] }
  if (options.files.length === 0) return outcome
  process.stdout.write(`\n${title}\n`)
  const stream = run({
    cwd: ROOT,
    files: options.files.map((file) => resolve(ROOT, file)),
    concurrency: options.concurrency,
    env: { ...process.env, NODE_ENV: 'test', ...options.env },
    timeout: FILE_TIMEOUT_MS,
  })
  stream.on('test:pass', ({ name, skip, details }) => {
    if (skip) outcome.skipped.push({ name, reason: skip === true ? 'no reason given' : skip })
    else if (details.type !== 'suite') outcome.passed += 1
  })
  stream.on('test:fail', ({ name, file, details }) => {
    if (details.type === 'suite' && isAboutSubtests(details.error)) return
    outcome.failed.push(`${name} (${relative(ROOT, file ?? '')})`)
  })
  for await (const text of stream.compose(spec)) process.stdout.write(text)
  return outcome
}

// A suite fails because a test in it did; that test has been counted.
function isAboutSubtests(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed'
}
