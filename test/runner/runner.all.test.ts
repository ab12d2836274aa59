import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { batchesOf } from './batches.ts'
import { closingLines, hasFailed, NOTHING, type Outcome, outcomeOf } from './outcome.ts'
import { filesOf, tagsFor } from './parts.ts'

const SAMPLE = `
import { describe, test } from 'node:test'
test('passes', () => {})
test('is skipped', { skip: 'no such server' }, () => {})
describe('a suite', () => { test('fails', () => { throw new Error('on purpose') }) })
`

test('counts passed, failed and skipped tests, with names and reasons', (t) => {
  const outcome = runSample(t, SAMPLE)

  assert.equal(outcome.passed, 1)
  assert.equal(outcome.failed.length, 1)
  assert.match(outcome.failed[0] ?? '', /^fails \(.*\n +Error: on purpose\n/)
  assert.deepEqual(outcome.unstable, [])
  assert.deepEqual(outcome.skipped, [{ name: 'is skipped', reason: 'no such server' }])
})

test('a failure says what was expected, what came, and how to run only that test', (t) => {
  const outcome = runSample(
    t,
    `import assert from 'node:assert/strict'
    import { test } from 'node:test'
    test("doesn't add (up)", () => assert.equal(1 + 1, 3))`,
  )

  const [failure = ''] = outcome.failed
  assert.match(failure, /^doesn't add \(up\) \(.*sample-0\.test\.mjs\)\n/)
  assert.match(failure, /2 !== 3/)
  assert.match(failure, /node --test --test-name-pattern='doesn\.t add \\\(up\\\)\$' .*sample-0/)
})

test('only the tests with the wanted tags run', (t) => {
  const sample = `
    import { describe, test } from 'node:test'
    describe('on postgres', { tags: ['all'] }, () => { test('twin', () => {}) })
    test('plain', () => {})
    test('random', { tags: ['property'] }, () => {})`
  const [path = ''] = writeSamples(t, [sample])
  const passedWith = (tags: string) =>
    runFilesApart(t, { files: [{ path, tags }], concurrency: 1 }).outcome.passed

  assert.equal(passedWith('not all'), 2)
  assert.equal(passedWith('all or property'), 2)
  assert.equal(passedWith('all'), 1)
  assert.equal(passedWith('root'), 0)
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
  assert.match(
    closingLines(outcome, { strict: true }),
    /unstable, passed alone: shaky .*\n.*too busy/,
  )
})

test('a file that cannot be loaded fails', (t) => {
  const outcome = runSample(t, "import './missing.ts'")

  assert.equal(outcome.failed.length, 1)
})

test('a file that cannot be loaded does not keep its neighbours from running, and is named', (t) => {
  const passing = "import { test } from 'node:test'\ntest('passes', () => {})"
  const broken = "import './missing.ts'"
  const paths = writeSamples(t, [passing, broken, passing], ['a.test', 'b.test', 'c.test'])
  const files = paths.map((path) => ({ path }))

  const { outcome } = runFilesApart(t, { files, concurrency: 1 })

  assert.equal(outcome.passed, 2)
  assert.equal(outcome.failed.length, 1)
  assert.match(outcome.failed[0] ?? '', /alone: .*node --test \S*b\.test\.mjs$/)
})

test('a failure in a module that test files share names the file to run', (t) => {
  const shared = `
    import { test } from 'node:test'
    export const suite = () => test('fails', () => { throw new Error() })`
  const using = "import { suite } from './suite.mjs'\nsuite()"
  const passing = "import { test } from 'node:test'\ntest('passes', () => {})"
  const [, ...paths] = writeSamples(t, [shared, using, passing], ['suite', 'a.test', 'b.test'])
  const files = paths.map((path) => ({ path }))

  const { outcome } = runFilesApart(t, { files, concurrency: 1 })

  assert.match(outcome.failed[0] ?? '', /alone: .*--test-name-pattern='fails\$' \S*a\.test\.mjs$/)
})

test('a file that never ends fails', { timeout: 60_000 }, (t) => {
  const outcome = runSample(t, 'setInterval(() => {}, 1000)', { TEST_FILE_SECONDS: '1' })

  assert.equal(outcome.failed.length, 1)
})

test('files share a process, except those named alone', (t) => {
  const pid = 'test(String(process.pid), () => { throw new Error() })'
  const source = `import { test } from 'node:test'\n${pid}`
  const paths = writeSamples(t, [source, source, source], ['a.test', 'b.test', 'c.alone.test'])
  const files = paths.map((path) => ({ path }))
  const { outcome } = runFilesApart(t, { files, concurrency: 1 })
  const pids = outcome.failed.map((failure) => failure.split(' ')[0])

  assert.equal(pids.length, 3)
  assert.equal(new Set(pids).size, 2)
})

test('the last lines have what was left out and the totals of all steps', () => {
  const first = { ...NOTHING, passed: 2, failed: ['one'] }
  const second = { ...NOTHING, passed: 3, skipped: [{ name: 'two', reason: 'why' }] }

  const closing = closingLines(outcomeOf([first, second]), { strict: false, leftOut: 1734 })

  const lines = closing.split('\n')
  assert.equal(lines.at(-2), '5 passed, 1 failed, 1 skipped')
  assert.equal(lines.at(-3), '1,734 more in npm run test:all')
  assert.ok(lines.includes('✖ one'))
  assert.ok(lines.includes('﹣ two # why'))
})

test('a skip fails the run only in strict mode', () => {
  const complete = { ...NOTHING, passed: 3 }
  const skipped = { ...complete, skipped: [{ name: 'two', reason: 'why' }] }

  assert.equal(hasFailed(skipped, true), true)
  assert.equal(hasFailed(skipped, false), false)
  assert.equal(hasFailed(complete, true), false)
  assert.match(
    closingLines(skipped, { strict: true }),
    /a skipped test is a failure\n3 passed, 0 failed, 1 /,
  )
})

test('a file is filtered by the tags of the command, and those that need root can be left out', () => {
  const plain = 'services/identity/test/login.test.ts'
  const forAll = 'test/pgbouncer.all.test.ts'

  assert.equal(tagsFor(plain, 'first', false), '(not all)')
  assert.equal(tagsFor(plain, 'first', true), '(not all) and not root')
  assert.equal(tagsFor(plain, 'rest', true), '(all or property) and not root')
  assert.equal(tagsFor(plain, 'root', true), '(root)')
  assert.equal(tagsFor(forAll, 'rest', false), undefined)
  assert.equal(tagsFor(forAll, 'root', false), '(root)')
})

test('every test file belongs to npm test or to npm run test:all, and to one batch', () => {
  const [first, rest, all] = (['first', 'rest', 'all'] as const).map((part) => filesOf(part))

  assert.deepEqual(new Set([...(first ?? []), ...(rest ?? [])]), new Set(all))
  const files = (all ?? []).map((path) => ({ path }))
  const paths = batchesOf(files).flatMap((batch) => batch.files.map(({ path }) => path))
  assert.deepEqual(paths.sort(), all?.sort())
})

type Scope = { after(fn: () => void): void }

function runSample(t: Scope, sample: string, env: Record<string, string> = {}): Outcome {
  const files = writeSamples(t, [sample]).map((path) => ({ path }))
  return runFilesApart(t, { files, concurrency: 1, env }).outcome
}

function writeSamples(t: Scope, samples: string[], names = ['sample-0.test']): string[] {
  const folder = temporaryFolder(t)
  return samples.map((sample, place) => {
    const file = join(folder, `${names[place]}.mjs`)
    writeFileSync(file, sample)
    return file
  })
}

// The runner cannot run inside a test process, so run it in a separate process that prints the outcome.
function runFilesApart(t: Scope, options: object): { outcome: Outcome; stdout: string } {
  const script = `
    import { runFiles } from ${JSON.stringify(import.meta.resolve('./run-files.ts'))}
    const outcome = await runFiles(${JSON.stringify(options)})
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
