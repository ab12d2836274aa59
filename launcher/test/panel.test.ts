import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { SettingsError } from '@plinth/kit/runtime'
import { panelOf } from '../stack/panel.ts'
import { startStack } from '../stack/stack.ts'
import { checkedServices } from './checked-services.ts'
import { testEnv } from './test-env.ts'

const KEY = randomBytes(32).toString('base64')
const PRODUCTION = {
  NODE_ENV: 'production',
  IDENTITY_MASTER_KEY: KEY,
  IDENTITY_PASSWORD_MEMORY_KIB: '',
  IDENTITY_PASSWORD_PASSES: '',
  STORAGE_FULL_MASTER_KEY: KEY,
  STORAGE_FULL_PASSWORD_MEMORY_KIB: '',
  STORAGE_FULL_PASSWORD_PASSES: '',
  STORAGE_KEY_API_KEY: 'a key of our own, long enough',
  PAYMENTS_ACCESS: 'keys',
}

describe('the panel of npm start', () => {
  test('lists addresses, logins, the data folder and development conveniences', async (t) => {
    const { env, panel } = await start(t, {})

    for (const setting of Object.keys(env).filter((name) => name.endsWith('_PORT')))
      assert.ok(panel.includes(`http://localhost:${env[setting]}`), setting)
    assert.match(panel, /Sign in as +admin \/ password123123 +\(ROLE_ADMIN, ROLE_USER\)/)
    assert.match(panel, /X-API-KEY +storage-local-dev-key/)
    assert.ok(panel.includes(`${env.SUITE_DATA}`))
    assert.match(panel, /For development +demo accounts, a known API key, a payment provider/)
  })

  test('shows the public addresses', async (t) => {
    const { panel } = await start(t, {
      SUITE_PUBLIC_URL: 'https://plinth.example',
      IDENTITY_PUBLIC_URL: 'https://id.plinth.example',
    })

    assert.match(panel, /Start here +https:\/\/plinth\.example$/m)
    assert.match(panel, /Identity +https:\/\/id\.plinth\.example$/m)
  })

  test('in production shows no login, key or convenience', async (t) => {
    const { panel } = await start(t, PRODUCTION)

    assert.doesNotMatch(panel, /Sign in|X-API-KEY|development|Sandbox/)
  })

  test('in production the defaults are refused, with all faults reported together', async (t) => {
    const { env } = await testEnv(t, { NODE_ENV: 'production' })

    const names = [
      'IDENTITY_MASTER_KEY',
      'STORAGE_FULL_MASTER_KEY',
      'STORAGE_KEY_API_KEY',
      'PAYMENTS_ACCESS',
    ]
    await assert.rejects(startStack({ env }), (error: SettingsError) => {
      assert.ok(error instanceof SettingsError)
      for (const name of names)
        assert.ok(
          error.faults.some((fault) => fault.name === name),
          name,
        )
      return true
    })
  })
})

async function start(t: TestContext, overrides: Record<string, string>) {
  const { env } = await testEnv(t, overrides)
  const stack = await startStack({ env, only: checkedServices(t) })
  t.after(() => stack.close())
  return { env, panel: panelOf(stack, 400) }
}
