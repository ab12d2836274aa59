import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { type Api, apiFor } from '../api.ts'
import { documentedReplies } from '../replies.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

export type SpawnedService = {
  baseUrl: string
  api: Api
  process: ChildProcess
  /** Sends the signal and waits until the process has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Resolves when the process has ended, by itself or by a fail point. */
  ended: Promise<void>
}

/** In tests there is no load balancer that must notice a shutdown first. */
export const NO_DRAIN = Object.fromEntries(
  ['SUITE', 'IDENTITY', 'STORAGE_FULL', 'STORAGE_KEY', 'PAYMENTS', 'SANDBOX', 'SMALL'].map(
    (name) => [`${name}_DRAIN_SECONDS`, '0'],
  ),
)

/**
 * Runs a `main.ts`, or its bundle, as a process of its own, for tests that kill it. Its replies to `api`
 * must match the service's API document.
 */
export async function spawnService(
  t: TestScope,
  mainFile: string,
  env: Record<string, string>,
  args: string[] = [],
): Promise<SpawnedService> {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const child = spawn(process.execPath, [...preloadsOf(mainFile), mainFile, ...args], {
    cwd: tmpdir(), // Not where a developer's .env may be.
    env: { PATH, NODE_COMPILE_CACHE, NODE_ENV: 'test', LOG_LEVEL: 'info', ...NO_DRAIN, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit').then(() => {})
  const kill = async (signal: NodeJS.Signals = 'SIGKILL') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await ended
  }
  t.after(() => kill())
  const baseUrl = await listeningUrl(child)
  const api = apiFor(baseUrl, documentedReplies(mainFile))
  return { baseUrl, api, process: child, kill, ended }
}

/** The module that `npm test` preloads into every process, so that it starts faster. */
export function preloads(module = process.env.TEST_PRELOAD): string[] {
  return module ? ['--import', module] : []
}

/** A bundle has all its packages. */
const preloadsOf = (mainFile: string) => (mainFile.endsWith('.ts') ? preloads() : [])

async function listeningUrl(child: ChildProcess): Promise<string> {
  const errors: string[] = []
  child.stderr?.on('data', (chunk) => errors.push(String(chunk)))
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    const url = /"url":"(http[^"]+)".*"msg":"listening"/.exec(line)?.[1]
    if (url) resolve(url)
  })
  child.once('exit', (code) => reject(new Error(`ended with ${code}: ${errors.join('')}`)))
  return promise
}
