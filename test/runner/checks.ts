import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { NOTHING, type Outcome, outcomeOf } from './outcome.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Several checkers each work out the types they share: on two cores that costs twice the CPU time, and gains none. */
const ONE_CHECKER = ['--checkers', '1']

/** Types, lint and format, in parallel. The consoles and the client are checked with DOM types and without Node's. */
export async function checks(): Promise<Outcome> {
  const outcomes = await Promise.all([
    check('type check', 'tsc', ...ONE_CHECKER),
    check('type check of the consoles', 'tsc', '-p', 'packages/console', ...ONE_CHECKER),
    check('type check of the client', 'tsc', '-p', 'packages/client', '--noEmit', ...ONE_CHECKER),
    check('lint and format', 'biome', 'check', '.', '--diagnostic-level=error'),
  ])
  return outcomeOf(outcomes)
}

async function check(name: string, program: string, ...args: string[]): Promise<Outcome> {
  const started = performance.now()
  const path = join(ROOT, 'node_modules/.bin', program)
  const child = spawn(path, args, { cwd: ROOT, stdio: 'inherit' })
  const [exitCode] = await once(child, 'exit')
  const milliseconds = Math.round(performance.now() - started)
  process.stdout.write(`${exitCode === 0 ? '✔' : '✖'} ${name} (${milliseconds}ms)\n`)
  const failed = exitCode === 0 ? [] : [name]
  return { ...NOTHING, passed: 1 - failed.length, failed }
}
