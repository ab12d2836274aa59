import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type Reply, startSmallProvider } from './small-provider.ts'
import { checkoutBody, providerEnv, startLoop } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

const TIMEOUT_MS = 3_000
const NAMED = { PROVIDER_TIMEOUT_MILLISECONDS: String(TIMEOUT_MS) }
const MORE_THAN_HALF = 2_000

for (const engine of engines)
  describe(`PROVIDER_TIMEOUT_MILLISECONDS on ${engine.name}`, engine.options, () => {
    test('is all the time that a checkout waits for a provider that never answers', async (t) => {
      const provider = await startSmallProvider(t, {
        'POST /v1/checkout/sessions': () => new Promise<never>(() => {}),
      })
      const { api } = await startPayments(t, {
        env: { ...providerEnv(provider), ...NAMED },
        databaseUrl: await engine.freshUrl(t),
      })

      const asked = performance.now()
      const reply = await api.post('/api/checkout/sessions', checkoutBody())
      const waited = performance.now() - asked

      assert.ok(waited < 1.5 * TIMEOUT_MS, `${waited} ms`)
      assert.deepEqual([reply.status, reply.body.code], [503, 'PROVIDER_UNAVAILABLE'])
      assert.equal(provider.asked.length, 1)
    })

    test('leaves time to try again after a failure that came at once', async (t) => {
      const { checkOut, sandbox } = await startLoop(t, { databaseUrl: await engine.freshUrl(t) })
      await sandbox.fault({ kind: 'reset-before', route: 'POST /v1/checkout/sessions' })

      assert.equal((await checkOut()).status, 201)
    })

    test('holds for all calls of an operation together', async (t) => {
      const provider = await startSmallProvider(t, {
        'POST /v1/checkout/sessions': { body: { id: 'cs_1', url: 'https://pay.example/cs_1' } },
        'POST /v1/refunds': { status: 500, body: {} },
        'GET /v1/refunds': { body: { data: [] } },
      })
      const { api, deliver } = await startPayments(t, {
        env: { ...providerEnv(provider), ...NAMED },
        databaseUrl: await engine.freshUrl(t),
        overrides: { providerRetries: 0 },
      })
      const { body } = await api.post('/api/checkout/sessions', checkoutBody())
      const object = { id: 'cs_1', payment_status: 'paid', payment_intent: 'pi_1' }
      await deliver({ id: 'evt_1', type: 'checkout.session.completed', data: { object } })
      const refund = () => api.post(`/api/payments/${body.paymentId}/refund`, { reference: 'r' })
      const slowly = (reply: Reply) => () => setTimeout(MORE_THAN_HALF, reply)
      const made = { body: { id: 're_1', status: 'succeeded' } }

      const unknown = await refund()
      // The outcome is looked up, and then the request sent again.
      provider.replies['GET /v1/refunds'] = slowly({ body: { data: [] } })
      provider.replies['POST /v1/refunds'] = slowly(made)
      const asked = performance.now()
      const late = await refund()
      const waited = performance.now() - asked
      provider.replies['POST /v1/refunds'] = made
      const again = await refund()

      assert.equal(unknown.status, 502)
      assert.ok(waited < 1.5 * TIMEOUT_MS, `${waited} ms`)
      assert.deepEqual([late.status, late.body.code], [503, 'PROVIDER_UNAVAILABLE'])
      assert.equal(again.status, 201)
    })
  })
