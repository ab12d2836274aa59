import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { type Env, readSettings, SettingsError } from '@plinth/kit/runtime'
import { accountSettings } from './settings.ts'

const MASTER_KEY = randomBytes(32).toString('base64')

const read = (env: Env, host = 'localhost') =>
  readSettings(env, (settings) =>
    accountSettings(settings, {
      name: 'x',
      prefix: 'X_',
      host,
      publicUrl: 'http://localhost:1',
      dataFolder: '/nowhere',
      passwordMinLength: 12,
      registrations: ['open', 'closed'],
      logoutEndsCaller: false,
    }),
  )

const faultsOf = (env: Env): string[] => {
  try {
    read(env)
    return []
  } catch (error) {
    return error instanceof SettingsError ? error.faults.map(({ name }) => name) : ['another error']
  }
}

describe('account settings', () => {
  test('need nothing but a master key', () => {
    const settings = read({ X_MASTER_KEY: MASTER_KEY })

    assert.equal(settings.accessTokenLifetimeSeconds, 900)
    assert.equal(settings.refreshTokenLifetimeSeconds, 1_209_600)
    assert.deepEqual(settings.failures, { limit: 100, windowSeconds: 3600 })
    assert.deepEqual(settings.hashing.cost, { memoryKib: 19_456, passes: 2, lanes: 1 })
    assert.equal(settings.refreshReuse, 'reject')
    assert.equal(settings.issuer, 'http://localhost:1')
    assert.equal(settings.demoAccounts, true)
  })

  test('in production have no demo accounts, no generated key and no cheap hashes', () => {
    const production = { NODE_ENV: 'production' }

    const settings = read({ ...production, X_MASTER_KEY: MASTER_KEY })
    assert.equal(settings.demoAccounts, false)
    assert.equal(settings.demoAccountsRefusedFor, 'X_DEMO_ACCOUNTS')
    assert.deepEqual(
      faultsOf({ ...production, X_PASSWORD_MEMORY_KIB: '8', X_PASSWORD_PASSES: '1' }),
      ['X_MASTER_KEY', 'X_PASSWORD_MEMORY_KIB', 'X_PASSWORD_PASSES'],
    )
  })

  test('refuse demo accounts left by an earlier start when the service is reachable by others', () => {
    const off = { X_MASTER_KEY: MASTER_KEY, X_DEMO_ACCOUNTS: 'false' }

    assert.equal(read(off).demoAccountsRefusedFor, undefined)
    assert.equal(read(off, '0.0.0.0').demoAccountsRefusedFor, 'X_DEMO_ACCOUNTS')
  })

  test('refuse times that no date can hold', () => {
    const names = ['X_FAILURE_WINDOW_SECONDS', 'X_AUDIT_DAYS', 'X_KEY_ROTATION_DAYS']
    const env = (value: string) => Object.fromEntries(names.map((name) => [name, value]))

    assert.deepEqual(faultsOf({ X_MASTER_KEY: MASTER_KEY, ...env('36500') }), [])
    assert.deepEqual(faultsOf({ X_MASTER_KEY: MASTER_KEY, ...env('999999999') }), names)
  })

  test('refuse a shorter minimum length than the host allows, and a missing blocklist', () => {
    assert.deepEqual(
      faultsOf({
        X_MASTER_KEY: MASTER_KEY,
        X_PASSWORD_MIN_LENGTH: '11',
        X_PASSWORD_BLOCKLIST: '/nowhere/list.txt',
        X_REFRESH_REUSE: 'maybe',
      }),
      ['X_PASSWORD_MIN_LENGTH', 'X_PASSWORD_BLOCKLIST', 'X_REFRESH_REUSE'],
    )
  })
})
