import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { plinth, plinthHere } from '../../cli/test/run-plinth.ts'
import { startStack } from '../stack/stack.ts'
import { testEnv } from './test-env.ts'

const KEY = randomBytes(32).toString('base64')
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

test('an empty data folder, such as a new volume of a container, is a new installation', async (t) => {
  const { env, data } = await unmounted(t)
  mkdirSync(data, { recursive: true })

  const stack = await startStack({ env })
  await stack.close()

  assert.ok(existsSync(join(data, 'identity.db')))
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
