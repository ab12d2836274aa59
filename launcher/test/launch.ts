import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { preloads } from '@plinth/kit/testing'

const MAIN = join(import.meta.dirname, '../../cli/main.js')
const PATIENCE_MS = 60_000

type TestScope = { after(work: () => void): void }
/** `detached` gives the process its own process group, as a terminal does. */
type Launch = { env: Record<string, string>; folder: string; args?: string[]; detached?: boolean }

/** Runs the launcher as `npm start` does, in `folder`; killed when the test ends. */
export function launch(t: TestScope, options: Launch): ChildProcess {
  const { env, folder, args = [], detached = false } = options
  const child = spawn(process.execPath, [...preloads(), MAIN, 'start', ...args], {
    cwd: folder,
    detached,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => {
    child.kill('SIGKILL')
  })
  return child
}

/** Waits for `count` matching lines and returns the last; fails if the process ends first. */
export async function lineOf(
  child: ChildProcess,
  pattern: RegExp,
  count = 1,
  output = child.stdout,
): Promise<string> {
  const errors: string[] = []
  child.stderr?.on('data', (chunk) => errors.push(String(chunk)))
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const failed = (why: string) => reject(new Error(`${why}: ${errors.join('')}`))
  const timer = setTimeout(() => failed(`no line like ${pattern}`), PATIENCE_MS)
  let seen = 0
  createInterface({ input: output as NodeJS.ReadableStream }).on('line', (line) => {
    if (pattern.test(line)) seen += 1
    if (seen === count) resolve(line)
  })
  child.once('close', (code) => failed(`ended with ${code}`))
  return promise.finally(() => clearTimeout(timer))
}

/** Waits until the process has ended and its output is closed. */
export async function endOf(
  child: ChildProcess,
): Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }> {
  const [exitCode, signal] = await once(child, 'close', {
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
  return { exitCode, signal }
}

/** Waits for a process that should fail to start, and returns its stderr. */
export async function failureOf(
  child: ChildProcess,
): Promise<{ exitCode: number | null; errors: string }> {
  const errors: string[] = []
  child.stderr?.on('data', (chunk) => errors.push(String(chunk)))
  const { exitCode } = await endOf(child)
  return { exitCode, errors: errors.join('') }
}
