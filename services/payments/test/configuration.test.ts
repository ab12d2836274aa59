import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Env } from '@plinth/kit/runtime'
import { loadConfig } from '../src/config.ts'
import { shared } from './shared.ts'
import { engines, LIVE, startPayments } from './start-payments.ts'

type Scope = { after(work: () => void): void }

const SECRET_KEY = 'sk_test_never_shown'

for (const engine of engines)
  describe(`GET /api/configuration on ${engine.name}`, engine.options, () => {
    const start = async (t: Scope, env: Env = {}) =>
      startPayments(t, { env, databaseUrl: await engine.freshUrl(t) })

    test('says false and false when neither secret is configured', async (t) => {
      const { api } = await start(t, { PROVIDER_WEBHOOK_SECRET: '' })

      const reply = await api.get('/api/configuration')

      assert.equal(reply.status, 200)
      assert.deepEqual(reply.body, { providerApiConfigured: false, webhookConfigured: false })
    })

    test('says true for each secret that is configured, and shows neither', async (t) => {
      const { api } = await start(t, { PROVIDER_SECRET_KEY: SECRET_KEY })

      const reply = await api.get('/api/configuration')

      assert.deepEqual(reply.body, { providerApiConfigured: true, webhookConfigured: true })
      assert.doesNotMatch(reply.bytes.toString(), /sk_test|whsec/)
    })

    test('treats a blank secret as absent', async (t) => {
      const env = { PROVIDER_SECRET_KEY: '   ', PROVIDER_WEBHOOK_SECRET: ' \t' }
      const { api } = await start(t, env)

      const reply = await api.get('/api/configuration')

      assert.deepEqual(reply.body, { providerApiConfigured: false, webhookConfigured: false })
    })

    test('ignores a bad Bearer header, because the endpoint is public', async (t) => {
      const { api } = await start(t)

      assert.equal((await api.get('/api/configuration', { token: 'nonsense' })).status, 200)
    })
  })

for (const engine of engines)
  describe(`without a provider credential on ${engine.name}`, engine.options, () => {
    const service = shared(async (scope) =>
      startPayments(scope, { databaseUrl: await engine.freshUrl(scope) }),
    )

    const CHECKOUT = {
      amount: 1000,
      currency: 'eur',
      description: 'Chair',
      businessReference: 'order-1',
      attemptReference: 'a1',
    }
    const UNKNOWN = '5b4f5a0e-6a53-4f62-93f6-0a1f6e0b7a11'

    test('every operation that needs the provider is 503', async () => {
      const { api } = service()
      const replies = await Promise.all([
        api.post('/api/customers', { email: 'a@localhost' }),
        api.get('/api/customers/cus_1'),
        api.post('/api/checkout/sessions', CHECKOUT),
        api.post(`/api/payments/${UNKNOWN}/refund`, { reference: 'r1' }),
        api.get('/api/refunds/re_1'),
      ])

      for (const reply of replies) {
        assert.equal(reply.status, 503)
        assert.equal(reply.headers.get('content-type'), 'application/problem+json')
        assert.equal(reply.body.title, 'Provider is not configured')
        assert.equal(reply.body.code, 'PROVIDER_NOT_CONFIGURED')
      }
    })

    test('an invalid request is still 400', async () => {
      const { api } = service()

      assert.equal((await api.post('/api/customers', { email: 'not-an-email' })).status, 400)
      assert.equal((await api.post('/api/checkout/sessions', { amount: 0 })).status, 400)
      assert.equal((await api.get('/api/customers/%20')).status, 400)
      const elsewhere = { ...CHECKOUT, successUrl: 'not an address' }
      assert.equal((await api.post('/api/checkout/sessions', elsewhere)).status, 400)
    })

    test('reading a payment needs no provider: 404 for an unknown id, 400 for an invalid one', async () => {
      const { api } = service()

      assert.equal((await api.get(`/api/payments/${UNKNOWN}`)).status, 404)
      assert.equal((await api.get('/api/payments/nonsense')).status, 400)
    })
  })

describe('The console finds the sandbox', () => {
  const SANDBOX = { PROVIDER_SECRET_KEY: SECRET_KEY, PROVIDER_API_BASE: 'http://127.0.0.1:9' }
  const given = async (t: Scope, env: Env) =>
    (await startPayments(t, { env })).api.get('/api-test/provider.json')

  test('at the address of its API', async (t) => {
    assert.deepEqual((await given(t, SANDBOX)).body, { sandboxUrl: 'http://127.0.0.1:9' })
  })

  test('at the public address when it has one', async (t) => {
    const env = { ...SANDBOX, SANDBOX_PUBLIC_URL: 'https://sandbox.example.com' }

    assert.deepEqual((await given(t, env)).body, { sandboxUrl: 'https://sandbox.example.com' })
  })

  test('at its own address in production, where the suite serves only its pages for payers', () => {
    const env = {
      ...SANDBOX,
      NODE_ENV: 'production',
      PAYMENTS_ACCESS: 'keys',
      SUITE_PUBLIC_URL: 'https://suite.example.com',
    }
    const urlWith = (SANDBOX_PUBLIC_URL: string) =>
      loadConfig({ ...env, SANDBOX_PUBLIC_URL }).sandboxUrl

    assert.equal(urlWith('https://suite.example.com/sandbox'), 'http://127.0.0.1:9')
    assert.equal(urlWith('https://sandbox.example.com'), 'https://sandbox.example.com')
  })

  test('nowhere with a real provider', async (t) => {
    const env = { PROVIDER_SECRET_KEY: SECRET_KEY, SANDBOX_PUBLIC_URL: 'https://x.example.com' }

    assert.deepEqual((await given(t, env)).body, { sandboxUrl: null })
  })

  test("nowhere when the address is the provider's own", async (t) => {
    const env = { ...SANDBOX, PROVIDER_API_BASE: 'https://api.stripe.com' }

    assert.deepEqual((await given(t, env)).body, { sandboxUrl: null })
  })

  test('nowhere with a live key, whatever the address', async (t) => {
    const env = { ...SANDBOX, ...LIVE }

    assert.deepEqual((await given(t, env)).body, { sandboxUrl: null })
  })

  test('only when there is a console', async (t) => {
    assert.equal((await given(t, { ...SANDBOX, PAYMENTS_CONSOLE: 'off' })).status, 404)
  })
})

test('The service does not forward the controls of the sandbox', async (t) => {
  const env = { PROVIDER_SECRET_KEY: SECRET_KEY, PROVIDER_API_BASE: 'http://127.0.0.1:9' }
  const { api } = await startPayments(t, { env })

  for (const control of ['clock', 'faults', 'switches', 'reset', 'scenario'])
    assert.equal((await api.get(`/api-test/sandbox/${control}`)).status, 404, control)
})

describe('The lease of a process that dies while it works on a payment', () => {
  test('expires before the next caller gives up waiting', () => {
    const { leaseSeconds, lockWaitMilliseconds } = loadConfig({})

    assert.ok(leaseSeconds * 1000 < lockWaitMilliseconds)
  })
})
