import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Outcome, outcomeOf } from './outcome.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The pages and the client have types of their own: they know the DOM and no Node. */
export async function typeCheck(): Promise<Outcome> {
  const servers = await check('type check', 'tsc')
  const consoles = await check('type check of the consoles', 'tsc', '-p', 'packages/console')
  const client = await check('type check of the client', 'tsc', '-p', 'packages/client', '--noEmit')
  return outcomeOf([servers, consoles, client])
}

export function lint(): Promise<Outcome> {
  return check('lint and format', 'biome', 'check', '.', '--diagnostic-level=error')
}

async function check(name: string, program: string, ...args: string[]): Promise<Outcome> {
  const started = performance.now()
  const path = join(ROOT, 'node_modules/.bin', program)
  const child = spawn(path, args, { cwd: ROOT, stdio: 'inherit' })
  const [exitCode] = await once(child, 'exit')
  const milliseconds = Math.round(performance.now() - started)
  process.stdout.write(`${exitCode === 0 ? '✔' : '✖'} ${name} (${milliseconds}ms)\n`)
  const failed = exitCode === 0 ? [] : [name]
  return { passed: 1 - failed.length, failed, unstable: [], skipped: [] }
}
