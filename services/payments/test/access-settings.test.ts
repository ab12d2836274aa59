import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Env, SettingsError } from '@plinth/kit/runtime'
import { loadConfig } from '../src/config.ts'
import { LIVE } from './start-payments.ts'

function faultsOf(env: Env): string[] {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    assert.ok(error instanceof SettingsError)
    return error.faults.map(({ name }) => name)
  }
}

describe('PAYMENTS_ACCESS', () => {
  test('is open in development and issuer with PAYMENTS_REQUIRE_ISSUER', () => {
    assert.equal(loadConfig({}).access, 'open')
    assert.equal(loadConfig({ PAYMENTS_REQUIRE_ISSUER: 'https://id.example' }).access, 'issuer')
  })

  test('has no default in production, and the message names the three choices', () => {
    const production = { NODE_ENV: 'production' }

    assert.throws(() => loadConfig(production), /PAYMENTS_ACCESS.+\n.+open.+keys.+issuer/)
    assert.deepEqual(faultsOf(production), ['PAYMENTS_ACCESS'])
    for (const access of ['open', 'keys'])
      assert.deepEqual(faultsOf({ ...production, PAYMENTS_ACCESS: access }), [])
  })

  test('issuer requires PAYMENTS_REQUIRE_ISSUER_KEY in production', () => {
    const env = { NODE_ENV: 'production', PAYMENTS_REQUIRE_ISSUER: 'https://id.example' }

    assert.deepEqual(faultsOf(env), ['PAYMENTS_REQUIRE_ISSUER_KEY'])
    assert.deepEqual(faultsOf({ ...env, PAYMENTS_REQUIRE_ISSUER_KEY: 'plk_live_x' }), [])
  })

  test('must be one of the three and match PAYMENTS_REQUIRE_ISSUER', () => {
    const issuer = 'https://id.example'

    assert.deepEqual(faultsOf({ PAYMENTS_ACCESS: 'closed' }), ['PAYMENTS_ACCESS'])
    assert.deepEqual(faultsOf({ PAYMENTS_ACCESS: 'issuer' }), ['PAYMENTS_REQUIRE_ISSUER'])
    for (const access of ['open', 'keys'])
      assert.deepEqual(
        faultsOf({ PAYMENTS_ACCESS: access, PAYMENTS_REQUIRE_ISSUER: issuer }),
        ['PAYMENTS_ACCESS'],
        access,
      )
  })
})

describe('a live provider key', () => {
  test("is accepted with guarded calls, https and the shop's own return pages", () => {
    assert.deepEqual(faultsOf(LIVE), [])
    assert.deepEqual(faultsOf({ ...LIVE, PROVIDER_API_BASE: 'http://127.0.0.1:9' }), [])
    assert.deepEqual(faultsOf({ ...LIVE, PROVIDER_API_BASE: 'https://proxy.example' }), [])
  })

  test('is refused when anyone may call', () => {
    assert.deepEqual(faultsOf({ ...LIVE, PAYMENTS_ACCESS: 'open' }), ['PAYMENTS_ACCESS'])
    assert.deepEqual(faultsOf({ ...LIVE, PAYMENTS_ACCESS: undefined }), ['PAYMENTS_ACCESS'])
  })

  test('is refused with a provider over http on another machine', () => {
    const env = { ...LIVE, PROVIDER_API_BASE: 'http://proxy.example' }

    assert.deepEqual(faultsOf(env), ['PROVIDER_API_BASE'])
    const named = { ...env, SUITE_PLAIN_HTTP_HOSTS: 'proxy.example' }
    assert.deepEqual(faultsOf(named), ['PROVIDER_API_BASE'])
  })

  test('is refused with return pages on localhost, configured or by default', () => {
    const names = ['PROVIDER_SUCCESS_URL', 'PROVIDER_CANCEL_URL']
    for (const page of [
      undefined,
      'http://localhost:3000/thanks',
      'https://127.0.0.1/',
      'http://[::1]/',
    ])
      assert.deepEqual(
        faultsOf({ ...LIVE, PROVIDER_SUCCESS_URL: page, PROVIDER_CANCEL_URL: page }),
        names,
      )
    const restricted = {
      ...LIVE,
      PROVIDER_SECRET_KEY: 'rk_live_x',
      PROVIDER_SUCCESS_URL: undefined,
    }
    assert.deepEqual(faultsOf(restricted), ['PROVIDER_SUCCESS_URL'])
  })
})
