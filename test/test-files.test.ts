import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { closingLines, type Outcome, outcomeOf } from './outcome.ts'

const SAMPLE = `
import { describe, test } from 'node:test'
test('passes', () => {})
test('is skipped', { skip: 'no such server' }, () => {})
describe('a suite', () => { test('fails', () => { throw new Error('on purpose') }) })
`

test('counts what passed, failed and was skipped, with names and reasons', (t) => {
  const outcome = runSample(t, SAMPLE)

  assert.equal(outcome.passed, 1)
  assert.equal(outcome.failed.length, 1)
  assert.match(outcome.failed[0] ?? '', /^fails \(/)
  assert.deepEqual(outcome.skipped, [{ name: 'is skipped', reason: 'no such server' }])
})

test('a file that cannot even be loaded has failed', (t) => {
  const outcome = runSample(t, "import './missing.ts'")

  assert.equal(outcome.failed.length, 1)
})

test('the closing line is the sum of all steps, alone on the last line', () => {
  const first = { passed: 2, failed: ['one'], skipped: [] }
  const second = { passed: 3, failed: [], skipped: [{ name: 'two', reason: 'why' }] }

  const lines = closingLines(outcomeOf([first, second])).split('\n')

  assert.equal(lines.at(-2), '5 passed, 1 failed, 1 skipped')
  assert.ok(lines.includes('✖ one'))
  assert.ok(lines.includes('﹣ two # why'))
})

// The runner cannot run inside a test process, so a process of its own prints its outcome.
function runSample(t: { after(fn: () => void): void }, sample: string): Outcome {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-runner-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'sample.test.mjs')
  writeFileSync(file, sample)
  const script = `
    import { runTestFiles } from ${JSON.stringify(import.meta.resolve('./test-files.ts'))}
    const options = { files: [${JSON.stringify(file)}], concurrency: 1, env: {} }
    console.log('\\n' + JSON.stringify(await runTestFiles('Sample', options)))`
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const main = join(folder, 'main.mjs')
  writeFileSync(main, script)
  const { stdout } = spawnSync(process.execPath, [main], { env, encoding: 'utf8' })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}
