import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const MAIN = join(import.meta.dirname, '../main.js')

type TestScope = { after(work: () => void): void }
/** `detached` gives it a process group of its own, as a terminal does. */
type Launch = { env: Record<string, string>; folder: string; args?: string[]; detached?: boolean }

/** Runs the launcher as `npm start` does, in `folder`; killed when the test ends. */
export function launch(t: TestScope, options: Launch): ChildProcess {
  const { env, folder, args = [], detached = false } = options
  const child = spawn(process.execPath, [MAIN, ...args], {
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

/** Waits for so many lines that match and returns the last, or says how the process ended instead. */
export async function lineOf(
  child: ChildProcess,
  pattern: RegExp,
  count = 1,
  output = child.stdout,
): Promise<string> {
  const errors: string[] = []
  child.stderr?.on('data', (chunk) => errors.push(String(chunk)))
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let seen = 0
  createInterface({ input: output as NodeJS.ReadableStream }).on('line', (line) => {
    if (pattern.test(line)) seen += 1
    if (seen === count) resolve(line)
  })
  child.once('close', (code) => reject(new Error(`ended with ${code}: ${errors.join('')}`)))
  return promise
}

/** Waits for the end of a process that should not have started. */
export async function failureOf(
  child: ChildProcess,
): Promise<{ exitCode: number; errors: string }> {
  const errors: string[] = []
  child.stderr?.on('data', (chunk) => errors.push(String(chunk)))
  const [exitCode] = await once(child, 'close')
  return { exitCode, errors: errors.join('') }
}
