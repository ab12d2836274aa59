import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Env } from '@plinth/kit/runtime'
import { loadConfig, withSuiteAddress } from '../config.ts'
import { services } from '../services.ts'
import { withConsoles } from './one-issuer.ts'

const consolesWith = (given: Env, here = services) => {
  const env = withSuiteAddress(given)
  return withConsoles(env, loadConfig(env), here).IDENTITY_CONSOLES
}

test('the consoles that sign in do so at their own addresses and at that of the suite', () => {
  assert.deepEqual(consolesWith({ PAYMENTS_PORT: '9084' })?.split(','), [
    'http://localhost:8081',
    'http://localhost:8080/identity',
    'http://localhost:8082',
    'http://localhost:8080/storage',
    'http://localhost:9084',
    'http://localhost:8080/payments',
  ])
})

test('a suite with a public address has its consoles there', () => {
  const env = {
    SUITE_PUBLIC_URL: 'https://plinth.example',
    STORAGE_FULL_PUBLIC_URL: 'https://s.example',
  }

  assert.deepEqual(consolesWith(env)?.split(','), [
    'https://plinth.example/identity',
    'https://s.example',
    'https://plinth.example/payments',
  ])
})

test('consoles of services that do not run here, or at plain HTTP elsewhere, are left out', () => {
  const [identity, storage] = services
  assert.ok(identity && storage)
  const env = { STORAGE_FULL_PUBLIC_URL: 'http://files.example' }

  assert.deepEqual(consolesWith(env, [identity, storage])?.split(','), [
    'http://localhost:8081',
    'http://localhost:8080/identity',
  ])
})

test('a list that is set is left as it is, even if it is blank', () => {
  assert.equal(consolesWith({ IDENTITY_CONSOLES: 'https://a.example' }), 'https://a.example')
  assert.equal(consolesWith({ IDENTITY_CONSOLES: '' }), '')
})
