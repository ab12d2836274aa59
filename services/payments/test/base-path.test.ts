import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadConfig } from '../src/config.ts'
import { startPayments } from './start-payments.ts'

const PAYMENTS_PUBLIC_URL = 'https://app.example/payments'

describe('payments at a public URL with a path', () => {
  for (const [proxy, base] of [
    ['strips it', ''],
    ['does not strip it', '/payments'],
  ] as const)
    test(`works behind a proxy that ${proxy}`, async (t) => {
      const { api } = await startPayments(t, { env: { PAYMENTS_PUBLIC_URL } })

      const configuration = await api.get(`${base}/api/configuration`)
      const missing = await api.get(`${base}/api/payments/none`)
      const redirect = await api.get(`${base}/api-test`)
      const page = await api.get(`${base}/api-test/index.html`)
      const endpoint = await api.post(`${base}/api/webhooks/endpoints`, {
        url: 'http://127.0.0.1:1/',
      })

      assert.equal(configuration.body.webhookConfigured, true)
      assert.equal(missing.body.instance, '/payments/api/payments/none')
      assert.equal(redirect.headers.get('location'), '/payments/api-test/index.html')
      assert.equal(page.status, 200)
      assert.equal(
        endpoint.headers.get('location'),
        `/payments/api/webhooks/endpoints/${endpoint.body.id}`,
      )
    })

  test('customers return to pages below that path', () => {
    const { successUrl, cancelUrl } = loadConfig({ PAYMENTS_PUBLIC_URL })

    const page = `${PAYMENTS_PUBLIC_URL}/api-test/index.html`
    assert.equal(successUrl, `${page}?checkout=success&payment={PAYMENT_ID}`)
    assert.equal(cancelUrl, `${page}?checkout=cancelled&payment={PAYMENT_ID}`)
  })
})
