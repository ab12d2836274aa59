/**
 * `node skipped-suites.ts FILE` prints how many tests each skipped suite of a test file has. Node
 * reports a skipped suite as one test and never calls its body, so this calls the body with a `test`
 * that only counts. No test of the file runs.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { pathToFileURL } from 'node:url'

type Options = { skip?: boolean | string | undefined }
type Body = () => unknown

const counts: { name: string; tests: number }[] = []
const bodies: Promise<unknown>[] = []
const skippedSuite = new AsyncLocalStorage<{ tests: number } | undefined>()

const describe = (name: string, ...rest: [Options, Body] | [Body]) => {
  const body = rest.at(-1) as Body
  const skip = rest.length === 2 && rest[0].skip
  const outer = skippedSuite.getStore()
  const suite = skip && !outer ? { name, tests: 0 } : undefined
  if (suite) counts.push(suite)
  bodies.push(skippedSuite.run(outer ?? suite, async () => body()))
}
const test = () => {
  const suite = skippedSuite.getStore()
  if (suite) suite.tests += 1
}
const hook = () => {}

Object.assign(createRequire(import.meta.url)('node:test'), {
  describe,
  suite: describe,
  test,
  it: test,
  before: hook,
  after: hook,
  beforeEach: hook,
  afterEach: hook,
})
syncBuiltinESMExports()

await import(pathToFileURL(process.argv[2] ?? '').href)
for (let done = 0; done < bodies.length; done += 1) await bodies[done]?.catch(() => {})
console.log(`\n${JSON.stringify(counts)}`)
process.exit(0)
