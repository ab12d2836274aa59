/**
 * Mutation testing. `npm run mutate` makes a few small faults in each critical file, one at a time in a
 * copy of the tree, and runs the tests of `npm test` that are listed for that file. A fault that no test notices
 * survives and is printed. `--all` adds the tests of `npm run test:all`. `npm run mutate -- FILE`
 * makes all faults in one file, and runs the tests of its package that import it. `--only TEXT` takes the critical
 * files with this text in their path, `--tests GLOB` other tests for one file.
 *
 * StrykerJS 10 with its tap runner was tried. It runs, but it adds 186 packages, cannot take a sample of its 8,988
 * faults in these files, and of the faults that matter here it leaves out a missing `where`, call or `throw`.
 */
import { globSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { providePostgres } from '../runner/postgres.ts'
import { CRITICAL } from './critical-files.ts'
import { importingTests, packageOf } from './importing-tests.ts'
import { createJudge, judgeAll } from './judge.ts'
import { mutationsOf } from './mutations.ts'
import { stagesOf } from './stages.ts'
import { summaryOf, surveyFiles } from './survey.ts'

const USAGE = 'usage: npm run mutate [-- [--all] [--only TEXT | FILE.ts [--tests GLOB]]]'
if (process.argv.includes('--help')) {
  console.log(USAGE)
  process.exit(0)
}
const root = process.cwd()
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { tests: { type: 'string' }, only: { type: 'string' }, all: { type: 'boolean' } },
})
const { all = false, only = '' } = values
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
const chosen = CRITICAL.filter(({ file }) => file.includes(only))
try {
  if (positionals[0] === undefined) await surveyFiles(root, chosen, all)
  else await mutateFile(relative(root, resolve(positionals[0])))
} catch (error) {
  fail((error as Error).message)
}

async function mutateFile(file: string): Promise<void> {
  if (!file.endsWith('.ts')) fail(USAGE)
  const tests = values.tests === undefined ? importingTests(root, file) : [matching(values.tests)]
  const stages = stagesOf(tests, all)
  if (stages.length === 0) fail(`No test of ${packageOf(file)} imports it: use --tests GLOB.`)
  const judged = { file, source: readFileSync(join(root, file), 'utf8'), stages }
  const mutations = mutationsOf(judged.source)
  const counts = stages.map(({ files }) => files.length).join(' + ')
  console.log(`${mutations.length} faults in ${file}, ${counts} test files`)
  const postgres = await providePostgres()
  try {
    const counts = await judgeAll(createJudge(root, postgres.env), judged, mutations)
    console.log(summaryOf(counts, all))
  } finally {
    await postgres.stop()
  }
}

function matching(glob: string): string[] {
  return globSync(glob, { cwd: root, exclude: ['**/node_modules/**'] }).sort()
}

function fail(message: string): never {
  console.error(`✖ ${message}`)
  process.exit(1)
}
