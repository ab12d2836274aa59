import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Replies, startSmallProvider } from './small-provider.ts'
import { checkoutBody, providerEnv, startLoop } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

const URL_TO_PAY = 'https://pay.example/cs_1'
const REPLIES: Replies = {
  'POST /v1/checkout/sessions': { body: { id: 'cs_1', url: URL_TO_PAY } },
  'POST /v1/refunds': { body: { id: 're_1', status: 'succeeded' } },
}

for (const engine of engines)
  describe(`A provider that refuses connections, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestScope) => {
      const provider = await startSmallProvider(t, { ...REPLIES })
      const started = await startPayments(t, {
        env: providerEnv(provider),
        databaseUrl: await engine.freshUrl(t),
        overrides: { providerRetries: 1 },
      })
      const request = checkoutBody()
      const open = (amount: number) =>
        started.api.post('/api/checkout/sessions', { ...request, amount })
      return { ...started, provider, open }
    }

    test('has not received the checkout, so its reference is free for another amount', async (t) => {
      const { api, provider, open } = await start(t)
      provider.leave()
      const refused = await open(1000)
      const { body: left } = await api.get('/api/payments')
      await provider.comeBack()

      const corrected = await open(2000)

      assert.deepEqual([refused.status, refused.body.code], [503, 'PROVIDER_UNAVAILABLE'])
      assert.equal(left.totalElements, 0)
      assert.equal(corrected.status, 201, JSON.stringify(corrected.body))
    })

    test('may have received a checkout whose first try was lost, so its reference stays taken', async (t) => {
      const { provider, open } = await start(t)
      provider.replies['POST /v1/checkout/sessions'] = () => {
        provider.leave()
        return { body: {} }
      }
      const lost = await open(1000)
      Object.assign(provider.replies, REPLIES)
      await provider.comeBack()

      const corrected = await open(2000)

      assert.equal(lost.status, 503)
      assert.deepEqual([corrected.status, corrected.body.code], [409, 'PAYMENT_DIFFERS'])
      assert.equal((await open(1000)).status, 201)
    })

    test('has not received the refund, so its amount is not reserved', async (t) => {
      const { api, deliver, provider, open } = await start(t)
      const { body } = await open(1000)
      const object = { id: 'cs_1', payment_status: 'paid', payment_intent: 'pi_1' }
      await deliver({ id: 'evt_1', type: 'checkout.session.completed', data: { object } })
      const refund = (reference: string) =>
        api.post(`/api/payments/${body.paymentId}/refund`, { reference })
      provider.leave()
      const refused = await refund('one')
      await provider.comeBack()

      const other = await refund('two')

      assert.equal(refused.status, 503)
      assert.deepEqual([other.status, other.body.amount], [201, 1000])
    })
  })

for (const engine of engines)
  describe(`URLs in the settings on ${engine.name}`, engine.options, () => {
    test('are sent to the provider unchanged', async (t) => {
      const { checkOut, sandbox } = await startLoop(t, {
        databaseUrl: await engine.freshUrl(t),
        env: {
          PROVIDER_SUCCESS_URL: 'https://shop.example/thanks/?session={CHECKOUT_SESSION_ID}&a=b/',
          PROVIDER_CANCEL_URL: 'https://shop.example/basket/',
        },
      })

      await checkOut()

      const [{ success_url, cancel_url }] = await sandbox.sessions()
      assert.equal(success_url, 'https://shop.example/thanks/?session={CHECKOUT_SESSION_ID}&a=b/')
      assert.equal(cancel_url, 'https://shop.example/basket/')
    })

    for (const path of ['/stripe', '/stripe/'])
      test(`may give the provider the path ${path}, below which every call is made`, async (t) => {
        const provider = await startSmallProvider(t, {
          'POST /stripe/v1/customers': { body: { id: 'cus_1' } },
        })
        const { api } = await startPayments(t, {
          env: providerEnv({ baseUrl: `${provider.baseUrl}${path}` }),
          databaseUrl: await engine.freshUrl(t),
        })

        const reply = await api.post('/api/customers', { email: 'ada@example.com' })

        assert.equal(reply.status, 201)
        assert.deepEqual(provider.asked, ['POST /stripe/v1/customers'])
      })
  })
