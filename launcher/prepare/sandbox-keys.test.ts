import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { markNewInstallation } from '@plinth/kit/runtime'
import { withSandboxKeys } from './sandbox-keys.ts'

function planIn(t: TestContext) {
  const dataFolder = mkdtempSync(join(tmpdir(), 'plinth-keys-'))
  t.after(() => rmSync(dataFolder, { recursive: true }))
  markNewInstallation(dataFolder)
  const urls = { sandboxUrl: 'http://localhost:8085', paymentsUrl: 'http://localhost:8084' }
  return { dataFolder, ...urls, production: false }
}

test("payments and the sandbox get each other's address and keys", (t) => {
  const env = withSandboxKeys({}, planIn(t))

  assert.match(env.PROVIDER_SECRET_KEY ?? '', /^sk_test_[0-9a-f]{32}$/)
  assert.equal(env.PROVIDER_API_BASE, 'http://localhost:8085')
  assert.equal(env.SANDBOX_WEBHOOK_URL, 'http://localhost:8084/api/provider/webhook')
  assert.match(env.SANDBOX_WEBHOOK_SECRET ?? '', /^whsec_/)
  assert.equal(env.PROVIDER_WEBHOOK_SECRET, env.SANDBOX_WEBHOOK_SECRET)
})

test('only in production is the sandbox restricted to the key of payments', (t) => {
  const plan = planIn(t)
  const production = withSandboxKeys({}, { ...plan, production: true })

  assert.equal(production.SANDBOX_SECRET_KEY, production.PROVIDER_SECRET_KEY)
  assert.equal(withSandboxKeys({}, plan).SANDBOX_SECRET_KEY, undefined)
})

test('only in production does the sandbox get a secret seed, unless one is set', (t) => {
  const plan = planIn(t)
  const production = { ...plan, production: true }

  assert.match(withSandboxKeys({}, production).SANDBOX_SEED ?? '', /^[0-9a-f]{64}$/)
  assert.equal(withSandboxKeys({}, plan).SANDBOX_SEED, undefined)
  const set = { SANDBOX_SEED: 'a seed of our own, long enough' }
  assert.equal(withSandboxKeys(set, production).SANDBOX_SEED, set.SANDBOX_SEED)
  const file = { SANDBOX_SEED_FILE: '/run/secrets/seed' }
  assert.equal(withSandboxKeys(file, production).SANDBOX_SEED, undefined)
})

test('the keys are the same after a restart', (t) => {
  const plan = planIn(t)

  assert.deepEqual(withSandboxKeys({}, plan), withSandboxKeys({}, plan))
})

for (const [name, value] of [
  ['PROVIDER_SECRET_KEY', 'sk_live_mine'],
  ['PROVIDER_SECRET_KEY', ''],
  ['PROVIDER_WEBHOOK_SECRET', 'whsec_mine'],
  ['PROVIDER_SECRET_KEY_FILE', '/run/secrets/provider'],
] as const)
  test(`${name}="${value}" is left as it was set`, (t) => {
    assert.deepEqual(withSandboxKeys({ [name]: value }, planIn(t)), { [name]: value })
  })
