import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { closingLines, hasFailed, type Outcome, outcomeOf } from './outcome.ts'

const SAMPLE = `
import { describe, test } from 'node:test'
test('passes', () => {})
test('is skipped', { skip: 'no such server' }, () => {})
describe('a suite', () => { test('fails', () => { throw new Error('on purpose') }) })
`

const SKIPPED_SUITES = `
import { before, describe, test } from 'node:test'
for (const engine of ['one', 'other'])
  describe('on ' + engine, { skip: engine === 'other' && 'no such server' }, () => {
    before(() => { if (engine === 'other') throw new Error('must not run') })
    for (const name of ['a', 'b']) test(name, () => {})
    describe('inside', () => { test('c', () => {}) })
  })
describe('breaks when it is read', { skip: 'no such server' }, () => { undefined.server })
`

test('counts passed, failed and skipped tests, with names and reasons', (t) => {
  const outcome = runSample(t, SAMPLE)

  assert.equal(outcome.passed, 1)
  assert.equal(outcome.failed.length, 1)
  assert.match(outcome.failed[0] ?? '', /^fails \(.*\n +Error: on purpose\n/)
  assert.deepEqual(outcome.unstable, [])
  assert.deepEqual(outcome.skipped, [{ name: 'is skipped', reason: 'no such server', tests: 1 }])
})

test('a skipped suite counts once per test in it', (t) => {
  const outcome = runSample(t, SKIPPED_SUITES)

  assert.equal(outcome.passed, 3)
  assert.deepEqual(outcome.failed, [])
  assert.deepEqual(outcome.skipped, [
    { name: 'on other', reason: 'no such server', tests: 3 },
    { name: 'breaks when it is read', reason: 'no such server', tests: 1 },
  ])
})

test('a test that fails and then passes alone counts as passed and is listed as unstable', (t) => {
  const outcome = runSample(
    t,
    `import { existsSync, writeFileSync } from 'node:fs'
    import { test } from 'node:test'
    const wasHere = existsSync(import.meta.filename + '.ran')
    writeFileSync(import.meta.filename + '.ran', '')
    test('steady', () => {})
    test('shaky', () => { if (!wasHere) throw new Error('too busy') })`,
  )

  assert.equal(outcome.passed, 2)
  assert.deepEqual(outcome.failed, [])
  assert.match(outcome.unstable.join(), /^shaky \(.*\n.*too busy/)
  assert.match(closingLines(outcome, true), /unstable, passed alone: shaky .*\n.*too busy/)
})

test('a file that cannot be loaded fails', (t) => {
  const outcome = runSample(t, "import './missing.ts'")

  assert.equal(outcome.failed.length, 1)
})

test('a file that never ends fails', { timeout: 60_000 }, (t) => {
  const outcome = runSample(t, 'setInterval(() => {}, 1000)', { TEST_FILE_SECONDS: '1' })

  assert.equal(outcome.failed.length, 1)
})

test('files share a process, except those that measure theirs or start others', (t) => {
  const pid = 'test(String(process.pid), () => {})'
  const samples = [`${pid} // one`, `${pid} // other`, `${pid} // child_process`]
  const files = writeSamples(
    t,
    samples.map((sample) => `import { test } from 'node:test'\n${sample}`),
  )
  const run = runFiles(t, { files, concurrency: 1, env: {}, inBatches: true })
  const pids = [...run.stdout.matchAll(/✔ (\d+) /g)].map(([, name]) => name)

  assert.equal(run.outcome.passed, 3)
  assert.deepEqual(
    [pids.length, new Set(pids).size, pids.filter((one) => one === pids[1]).length],
    [3, 2, 2],
  )
})

test('the last line has the totals of all steps and nothing else', () => {
  const first = { passed: 2, failed: ['one'], unstable: [], skipped: [] }
  const second = {
    passed: 3,
    failed: [],
    unstable: [],
    skipped: [{ name: 'two', reason: 'why', tests: 4 }],
  }

  const lines = closingLines(outcomeOf([first, second]), false).split('\n')

  assert.equal(lines.at(-2), '5 passed, 1 failed, 4 skipped')
  assert.ok(lines.includes('✖ one'))
  assert.ok(lines.includes('﹣ two (4 tests) # why'))
})

test('a skip fails the run only in strict mode', () => {
  const skipped = {
    passed: 3,
    failed: [],
    unstable: [],
    skipped: [{ name: 'two', reason: 'why', tests: 1 }],
  }
  const complete = { passed: 3, failed: [], unstable: [], skipped: [] }

  assert.equal(hasFailed(skipped, true), true)
  assert.equal(hasFailed(skipped, false), false)
  assert.equal(hasFailed(complete, true), false)
  assert.match(closingLines(skipped, true), /a skipped test is a failure\n3 passed, 0 failed, 1 /)
})

type Scope = { after(fn: () => void): void }

function runSample(t: Scope, sample: string, env: Record<string, string> = {}): Outcome {
  return runFiles(t, { files: writeSamples(t, [sample]), concurrency: 1, env }).outcome
}

function writeSamples(t: Scope, samples: string[]): string[] {
  const folder = temporaryFolder(t)
  return samples.map((sample, place) => {
    const file = join(folder, `sample-${place}.test.mjs`)
    writeFileSync(file, sample)
    return file
  })
}

// The runner cannot run inside a test process, so run it in a separate process that prints the outcome.
function runFiles(t: Scope, options: object): { outcome: Outcome; stdout: string } {
  const script = `
    import { runTestFiles } from ${JSON.stringify(import.meta.resolve('./test-files.ts'))}
    const outcome = await runTestFiles('Sample', ${JSON.stringify(options)})
    console.log('\\n' + JSON.stringify(outcome))`
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const main = join(temporaryFolder(t), 'main.mjs')
  writeFileSync(main, script)
  const { stdout } = spawnSync(process.execPath, [main], { env, encoding: 'utf8', timeout: 60_000 })
  return { outcome: JSON.parse(stdout.trim().split('\n').at(-1) ?? ''), stdout }
}

function temporaryFolder(t: Scope): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-runner-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}
