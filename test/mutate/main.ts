/**
 * `npm run mutate -- FILE` makes one small fault after another in a copy of the tree, and runs the
 * tests of its package that import the file. A fault that no test notices survives and is shown.
 * `--tests GLOB` chooses the tests, for instance those of a service for a package that it uses.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { providePostgres } from '../runner/postgres.ts'
import { importingTests, packageOf } from './importing-tests.ts'
import { type Mutation, mutated, mutationsOf } from './mutations.ts'
import { runTests, type Verdict } from './run-tests.ts'
import { copyTree } from './tree-copy.ts'

const BASELINE_MS = 900_000
const EXTRA_MS = 5_000

const root = process.cwd()
const USAGE = 'usage: npm run mutate -- FILE.ts [--tests GLOB]'
if (process.argv.includes('--help')) {
  console.log(USAGE)
  process.exit(0)
}
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { tests: { type: 'string' } },
})
const file = relative(root, resolve(positionals[0] ?? ''))
if (!file.endsWith('.ts')) fail(USAGE)
const source = readFileSync(join(root, file), 'utf8')
const stages = values.tests === undefined ? importingTests(root, file) : [matching(values.tests)]
if (stages.flat().length === 0) fail(`No test of ${packageOf(file)} imports it: use --tests GLOB.`)

const timeouts = new Map<string[], number>()
const tree = copyTree(root)
const postgres = await providePostgres()
process.once('exit', tree.remove)
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
try {
  await mutateAll()
} finally {
  await postgres.stop()
}

async function mutateAll(): Promise<void> {
  const mutations = mutationsOf(source)
  const counts = stages.map((files) => files.length).join(' + ')
  console.log(`${mutations.length} faults in ${file}, ${counts} test files`)
  let killed = 0
  for (const mutation of mutations)
    if (await isNoticed(mutation)) killed += 1
    else console.log(survivor(mutation))
  console.log(`killed ${killed} of ${mutations.length}`)
}

/** Tests that fail, or take much longer than usual, have noticed the fault. */
async function isNoticed(mutation: Mutation): Promise<boolean> {
  for (const files of stages) {
    const timeoutMs = await timeoutFor(files)
    writeFileSync(join(tree.folder, file), mutated(source, mutation))
    if ((await run(files, timeoutMs)) !== 'passed') return true
  }
  return false
}

/** From a run without any fault, which must pass. */
async function timeoutFor(files: string[]): Promise<number> {
  const known = timeouts.get(files)
  if (known !== undefined) return known
  writeFileSync(join(tree.folder, file), source)
  const started = performance.now()
  const verdict = await run(files, BASELINE_MS)
  if (verdict !== 'passed') fail(`Without any fault in ${file} its tests have ${verdict}.`)
  const timeoutMs = 3 * (performance.now() - started) + EXTRA_MS
  timeouts.set(files, timeoutMs)
  return timeoutMs
}

function run(files: string[], timeoutMs: number): Promise<Verdict> {
  return runTests({ folder: tree.folder, files, env: postgres.env, timeoutMs })
}

function matching(glob: string): string[] {
  return globSync(glob, { cwd: root, exclude: ['**/node_modules/**'] }).sort()
}

/** The place of a fault and the lines it changes, as a diff shows them. */
function survivor(mutation: Mutation): string {
  const before = source.slice(0, mutation.start).split('\n')
  const removed = source.slice(mutation.start, mutation.end).split('\n').length
  const lines = (text: string, count: number) =>
    text.split('\n').slice(before.length - 1, before.length - 1 + count)
  return [
    `survived ${file}:${before.length} (${mutation.what})`,
    ...lines(source, removed).map((line) => `  - ${line.trim()}`),
    ...lines(mutated(source, mutation), 1).map((line) => `  + ${line.trim()}`),
  ].join('\n')
}

function fail(message: string): never {
  console.error(`✖ ${message}`)
  process.exit(1)
}
