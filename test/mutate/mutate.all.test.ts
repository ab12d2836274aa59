import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { until } from '../until.ts'
import { importingTests } from './importing-tests.ts'
import { runTests } from './run-tests.ts'

const MAIN = join(import.meta.dirname, 'main.ts')
const RULE = 'packages/shop/src/price.ts'
const FILES = {
  'package.json': '{ "type": "module" }',
  'packages/shop/package.json': '{ "name": "@plinth/shop", "exports": { ".": "./src/index.ts" } }',
  'packages/shop/src/index.ts': "export { price } from './price.ts'\n",
  [RULE]: 'export const price = (n: number) => (n > 9 ? n * 8 : n * 10)\n',
  'packages/shop/test/price.test.ts': `
    import assert from 'node:assert/strict'
    import { test } from 'node:test'
    import { price } from '@plinth/shop'
    test('by the piece', () => assert.equal(price(2), 20))
    test('in bulk', () => assert.equal(price(20), 160))`,
  'packages/shop/test/other.test.ts': "import { price } from '@plinth/shop'\n",
  'packages/shop/test/apart.test.ts': "import 'node:test'\n",
  'packages/till/till.test.ts': "import { price } from '@plinth/shop'\n",
}

test('finds the tests of the package that import a file, the nearest first', (t) => {
  const root = sampleTree(t)

  assert.deepEqual(importingTests(root, RULE), [
    ['packages/shop/test/price.test.ts'],
    ['packages/shop/test/other.test.ts'],
  ])
})

test('prints the faults that no test notices, and leaves the file unchanged', (t) => {
  const root = sampleTree(t)

  const { stdout, status } = mutate(root, RULE)

  assert.equal(status, 0)
  assert.equal(
    stdout,
    `6 faults in ${RULE}, 1 + 1 test files
survived ${RULE}:1 (> → >=)
  - export const price = (n: number) => (n > 9 ? n * 8 : n * 10)
  + export const price = (n: number) => (n >= 9 ? n * 8 : n * 10)
survived ${RULE}:1 (9 → 10)
  - export const price = (n: number) => (n > 9 ? n * 8 : n * 10)
  + export const price = (n: number) => (n > 10 ? n * 8 : n * 10)
killed 4 of 6
`,
  )
  assert.equal(readFileSync(join(root, RULE), 'utf8'), FILES[RULE])
})

test('surveys a few faults in each of several files', (t) => {
  const root = sampleTree(t, {
    'survey.ts': `
      import { surveyFiles } from ${JSON.stringify(join(import.meta.dirname, 'survey.ts'))}
      const tests = ['packages/shop/test/price.test.ts']
      await surveyFiles(process.cwd(), [{ file: '${RULE}', tests }])`,
  })

  const { stdout, status } = runNode(root, 'survey.ts')

  assert.equal(status, 0)
  const summary = stdout.split('\n').filter((line) => line.startsWith('killed'))
  assert.deepEqual(summary, [
    `killed 3 of 5 in ${RULE}`,
    'killed 3 of 5 in 1 files: 60.0 % (0 by time)',
  ])
})

test('says which faults only npm run test:all notices', (t) => {
  const root = sampleTree(t, {
    'packages/shop/test/price.test.ts': `
      import assert from 'node:assert/strict'
      import { test } from 'node:test'
      import { price } from '@plinth/shop'
      test('by the piece', () => assert.equal(price(2), 20))
      test('in bulk', { tags: ['all'] }, () => assert.equal(price(20), 160))`,
    'packages/shop/test/limit.all.test.ts': `
      import assert from 'node:assert/strict'
      import { test } from 'node:test'
      import { price } from '@plinth/shop'
      test('the limit', () => assert.deepEqual([price(9), price(10)], [90, 80]))`,
  })

  const killedWith = (...flags: string[]) => {
    const { stdout } = mutate(root, RULE, '--tests', 'packages/shop/test/*.test.ts', ...flags)
    const late = stdout.matchAll(/noticed by npm run test:all only .* \((.*)\)/g)
    return { summary: stdout.trim().split('\n').at(-1), late: [...late].map(([, what]) => what) }
  }

  assert.deepEqual(killedWith(), { summary: 'killed 2 of 6', late: [] })
  assert.deepEqual(killedWith('--all'), {
    summary: 'killed 6 of 6, 2 with npm test',
    late: ['> → >=', '9 → 10', '* → /', '8 → 9'],
  })
})

test('tests that never end are killed, with all processes they started', async (t) => {
  const folder = sampleTree(t, {
    'endless.test.ts': `
      import { spawn } from 'node:child_process'
      import { writeFileSync } from 'node:fs'
      import { test } from 'node:test'
      test('waits forever', () => new Promise(() => {
        const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
        writeFileSync('child.pid', String(child.pid))
      }))`,
  })

  const run = { folder, files: ['endless.test.ts'], env: {}, timeoutMs: 10_000 }

  assert.equal(await runTests(run), 'timed out')
  const pid = Number(readFileSync(join(folder, 'child.pid'), 'utf8'))
  await until(
    () => isRunning(pid),
    (running) => !running,
  )
})

test('tests that fail without a fault are an error', (t) => {
  const root = sampleTree(t, {
    'packages/shop/test/price.test.ts': "import { price } from '@plinth/shop'\nprice.no.such",
  })

  const { stderr, status } = mutate(root, RULE)

  assert.equal(status, 1)
  assert.match(stderr, /Without any fault in .* its tests have failed/)
})

function sampleTree(t: TestContext, changes: Partial<Record<string, string>> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'plinth-mutate-test-'))
  t.after(() => rmSync(root, { recursive: true }))
  for (const [path, text = ''] of Object.entries({ ...FILES, ...changes })) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

const mutate = (cwd: string, ...args: string[]) => runNode(cwd, MAIN, ...args)

function runNode(cwd: string, ...args: string[]) {
  const { NODE_TEST_CONTEXT: _, ...own } = process.env
  const env = { ...own, TEST_POSTGRES_URL: '', TEST_POSTGRES_MISSING: 'no test here needs it' }
  const options = { cwd, env, encoding: 'utf8', timeout: 240_000 } as const
  return spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], options)
}

// A process that has exited remains as a zombie until its parent reaps it.
function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}
