import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export type TestRun = {
  folder: string
  files: string[]
  /** Runs only the tests that match this filter. */
  tags?: string | undefined
  env: Record<string, string>
  timeoutMs: number
}
export type Verdict = 'passed' | 'failed' | 'timed out'

/** Runs test files until the first failure, then kills everything they started. */
export async function runTests({ folder, files, tags, env, timeoutMs }: TestRun): Promise<Verdict> {
  const TMPDIR = join(folder, '.tmp')
  mkdirSync(TMPDIR, { recursive: true })
  const { NODE_TEST_CONTEXT: _, ...own } = process.env
  const flags = ['--test', '--test-reporter=tap', `--test-concurrency=${availableParallelism()}`]
  if (tags) flags.push(`--experimental-test-tag-filter=${tags}`)
  const child = spawn(process.execPath, [...flags, ...files], {
    cwd: folder,
    env: { ...own, NODE_ENV: 'test', TMPDIR, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true, // Its own process group, so that all of it can be killed.
  })
  const ended = once(child, 'close')
  const killAll = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // It has already exited.
    }
  }
  let verdict: Verdict = 'passed'
  const end = (found: Verdict) => {
    verdict = verdict === 'passed' ? found : verdict
    killAll()
  }
  const timer = setTimeout(() => end('timed out'), timeoutMs)
  process.once('exit', killAll)
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (/^\s*not ok /.test(line) && !/ # (TODO|SKIP)/.test(line)) end('failed')
  })
  const [exitCode] = await ended
  clearTimeout(timer)
  process.off('exit', killAll)
  killAll()
  rmSync(TMPDIR, { recursive: true, force: true, maxRetries: 5 })
  return verdict === 'passed' && exitCode !== 0 ? 'failed' : verdict
}
