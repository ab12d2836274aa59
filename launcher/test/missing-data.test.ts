import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { enterDataFolder } from '@plinth/kit/runtime'
import { plinth, plinthHere } from '../../cli/test/run-plinth.ts'
import { startStack } from '../stack/stack.ts'
import { testEnv } from './test-env.ts'

const KEY = randomBytes(32).toString('base64')
const NOT_THERE_AT_ALL = /is not there/
const NOT_THERE =
  /The data folder .*mounted.* is not there\. If its disk is not mounted, mount it\./

/** Settings of an installation whose data is on a disk of its own, which is not mounted. */
async function unmounted(t: TestContext) {
  const { env, folder } = await testEnv(t, {
    NODE_ENV: 'production',
    IDENTITY_MASTER_KEY: KEY,
    STORAGE_FULL_MASTER_KEY: KEY,
    PAYMENTS_MASTER_KEY: KEY,
    STORAGE_KEY_API_KEY: 'a key of our own, long enough',
    PAYMENTS_ACCESS: 'keys',
    IDENTITY_PASSWORD_MEMORY_KIB: '',
    IDENTITY_PASSWORD_PASSES: '',
    STORAGE_FULL_PASSWORD_MEMORY_KIB: '',
    STORAGE_FULL_PASSWORD_PASSES: '',
  })
  const data = join(folder, 'mounted', 'plinth')
  return { env: { ...env, SUITE_DATA: data }, folder, data }
}

test('in production a disk that is not mounted does not become a new installation', async (t) => {
  const { env, data } = await unmounted(t)

  const started = await plinth(['start'], { env })
  const alone = await plinth(['start', 'payments'], { env })
  const command = await plinthHere(['user', 'list'], { env })

  for (const { code, stderr } of [started, alone, command]) {
    assert.equal(code, 69, stderr)
    assert.match(stderr, NOT_THERE)
  }
  assert.equal(existsSync(join(data, '..')), false)
})

test('nor does the empty folder that a disk is mounted on, whatever commands have left in it', {
  tags: ['all'],
}, async (t) => {
  const { env, data } = await unmounted(t)
  mkdirSync(data, { recursive: true })
  const EMPTY = /The data folder .*plinth is empty\. If its disk is not mounted, mount it\./

  const backup = await plinth(['backup', 'create'], { env })
  const started = await plinth(['start'], { env })
  const alone = await plinth(['start', 'payments'], { env })
  const command = await plinthHere(['user', 'list'], { env })

  assert.notEqual(backup.code, 0)
  for (const { code, stderr } of [started, alone, command]) {
    assert.equal(code, 69, stderr)
    assert.match(stderr, EMPTY)
  }
  assert.deepEqual(readdirSync(data), ['last-backup.json'])
})

test('nor does one that runs the sandbox, which keeps a key there', {
  tags: ['all'],
}, async (t) => {
  const { env, data } = await unmounted(t)
  const sandbox = { ...env, SUITE_SANDBOX: 'on' }

  const missing = await plinth(['start'], { env: sandbox })
  assert.equal(missing.code, 69, missing.stderr)
  assert.match(missing.stderr, NOT_THERE)
  mkdirSync(data, { recursive: true })
  const empty = await plinth(['start'], { env: sandbox })

  assert.equal(empty.code, 69, empty.stderr)
  assert.deepEqual(readdirSync(data), [])
})

test('an empty data folder is a new installation if the operator says so, once', {
  tags: ['all'],
}, async (t) => {
  const { env, data } = await unmounted(t)
  mkdirSync(data, { recursive: true })
  const { stderr } = await plinthHere(['user', 'list'], { env })
  const [, mark = ''] = /say so once: touch (\S+) \./.exec(stderr) ?? []

  writeFileSync(mark, '')
  for (let starts = 0; starts < 2; starts += 1) await (await startStack({ env })).close()

  assert.ok(existsSync(join(data, 'identity.db')))
  assert.equal(existsSync(mark), false)
})

test('a service that keeps nothing in the data folder starts with an empty one', () => {
  const dataFolder = '/var/empty/plinth'
  const there = { dataFolder: import.meta.dirname, production: true }

  assert.doesNotThrow(() =>
    enterDataFolder({ dataFolder, production: true, databaseUrl: 'postgres://db.example/plinth' }),
  )
  for (const place of [
    { databaseUrl: `sqlite:${dataFolder}/identity.db` },
    { root: `${dataFolder}/files` },
  ])
    assert.throws(
      () => enterDataFolder({ dataFolder, production: true, ...place }),
      NOT_THERE_AT_ALL,
    )
  assert.doesNotThrow(() => enterDataFolder(there))
})

test('a data folder that cannot be read is named with its setting, and matters only to who keeps data there', async (t) => {
  const { env, folder, data } = await unmounted(t)
  mkdirSync(join(folder, 'mounted'))
  writeFileSync(data, 'a file')
  const elsewhere = { dataFolder: data, production: true, databaseUrl: 'postgres://db.example/p' }
  const here = { ...elsewhere, databaseUrl: `sqlite:${data}/identity.db` }

  const { code, stderr } = await plinthHere(['user', 'list'], { env })
  const { stdout } = await plinthHere(['doctor', '--json'], { env })

  const unusable = /The folder .*plinth cannot be used: ENOTDIR.*Choose another with SUITE_DATA\./
  assert.doesNotThrow(() => enterDataFolder(elsewhere))
  assert.throws(() => enterDataFolder(here), unusable)
  assert.equal(code, 69)
  assert.match(stderr, unusable)
  const found = JSON.parse(stdout).findings ?? JSON.parse(stdout)
  const [finding] = found.filter(({ check }: { check: string }) => check === 'data-dir')
  assert.deepEqual([finding.status, finding.seen], ['fail', `${data} is not a folder`])
})

test('plinth init creates the data folder, and a restore needs none', async (t) => {
  const { env, folder, data } = await unmounted(t)

  const init = ['init', '--data', data, '--admin-email', 'ada@example.com']
  const made = await plinthHere(init, { cwd: folder })

  assert.equal(made.code, 0, made.stderr)
  assert.equal(statSync(data).mode & 0o777, 0o700)
  const stack = await startStack({ env })
  await stack.close()
  const { stdout } = await plinthHere(['backup', 'create', '--json'], { env })
  const { file } = JSON.parse(stdout)
  const elsewhere = { ...env, SUITE_DATA: join(folder, 'elsewhere') }
  const restored = await plinthHere(['restore', file], { env: elsewhere })
  assert.equal(restored.code, 0, restored.stderr)
})
