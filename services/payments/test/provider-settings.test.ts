import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readSettings } from '@plinth/kit/runtime'
import { description } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { providerFindings } from '../src/doctor/checks.ts'
import { providerSettings } from '../src/provider/chosen.ts'

const EXAMINED = {
  name: 'payments',
  prefix: 'PAYMENTS_',
  production: true,
  isRunning: false,
  isPublic: false,
}

const ENV = {
  PROVIDER_SECRET_KEY: 'sk_test_of_the_tests',
  PROVIDER_API_BASE: 'https://proxy.example',
  PROVIDER_WEBHOOK_SECRET: 'whsec_of_the_tests',
  PROVIDER_WEBHOOK_SECRET_PREVIOUS: 'whsec_that_was_before',
}

describe('The settings of the provider', () => {
  test('are called by their own names in the findings of the doctor', async () => {
    const settingNames = { secretKey: 'LEDGER_KEY', webhookSecret: 'LEDGER_SECRET' }
    const configured = { ...loadConfig(ENV), settingNames }

    const withTestKey = await providerFindings(EXAMINED, configured)
    const withoutSecret = await providerFindings(EXAMINED, { ...configured, webhookSecrets: [] })

    const text = JSON.stringify([withTestKey, withoutSecret])
    assert.match(text, /LEDGER_KEY=<a live key>/)
    assert.match(text, /LEDGER_KEY is set, but LEDGER_SECRET is not/)
    assert.match(text, /LEDGER_SECRET=<the secret>/)
    assert.doesNotMatch(text, /PROVIDER_/)
  })

  test('are none in a scratch copy, so that nothing in it reaches the provider', () => {
    const unset = readSettings({}, providerSettings)

    const scratch = description.cutOff(loadConfig(ENV))

    for (const value of Object.values(ENV)) assert.ok(!JSON.stringify(scratch).includes(value))
    assert.deepEqual({ ...scratch, ...unset }, scratch)
    // A member that is there only when it is set would stay in the copy.
    assert.deepEqual(
      Object.keys(readSettings(ENV, providerSettings)).sort(),
      Object.keys(unset).sort(),
    )
  })
})
