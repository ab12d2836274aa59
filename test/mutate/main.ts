/**
 * Mutation testing. `npm run mutate` makes a few small faults in each critical file, one at a time in a
 * copy of the tree, and runs the tests listed for that file. A fault that no test notices survives and is
 * printed. `npm run mutate -- FILE` makes all faults in one file, and runs the tests of its package that
 * import it. `--tests GLOB` chooses other tests, for instance those of a service that uses the package.
 */
import { globSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { providePostgres } from '../runner/postgres.ts'
import { CRITICAL } from './critical-files.ts'
import { importingTests, packageOf } from './importing-tests.ts'
import { createJudge, judgeAll } from './judge.ts'
import { mutationsOf } from './mutations.ts'
import { surveyFiles } from './survey.ts'

const USAGE = 'usage: npm run mutate [-- FILE.ts [--tests GLOB]]'
if (process.argv.includes('--help')) {
  console.log(USAGE)
  process.exit(0)
}
const root = process.cwd()
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { tests: { type: 'string' } },
})
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
try {
  if (positionals[0] === undefined) await surveyFiles(root, CRITICAL)
  else await mutateFile(relative(root, resolve(positionals[0])))
} catch (error) {
  fail((error as Error).message)
}

async function mutateFile(file: string): Promise<void> {
  if (!file.endsWith('.ts')) fail(USAGE)
  const stages = values.tests === undefined ? importingTests(root, file) : [matching(values.tests)]
  if (stages.flat().length === 0)
    fail(`No test of ${packageOf(file)} imports it: use --tests GLOB.`)
  const judged = { file, source: readFileSync(join(root, file), 'utf8'), stages }
  const mutations = mutationsOf(judged.source)
  const counts = stages.map((files) => files.length).join(' + ')
  console.log(`${mutations.length} faults in ${file}, ${counts} test files`)
  const postgres = await providePostgres()
  try {
    const { killed, made } = await judgeAll(createJudge(root, postgres.env), judged, mutations)
    console.log(`killed ${killed} of ${made}`)
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
