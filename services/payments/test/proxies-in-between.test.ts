import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CUT, type Replies, type Reply, startSmallProvider } from './small-provider.ts'
import { checkoutBody, providerEnv } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

const SESSION = { id: 'cs_1', url: 'https://pay.example/cs_1', status: 'open' }
const PROXY = { status: 400, body: { message: 'Bad Request' } }

/** A provider that does what it is asked to; what it answers comes through, or does not, in this order. */
async function start(t: TestScope, databaseUrl: string) {
  const made: Record<'sessions' | 'refunds', string[]> = { sessions: [], refunds: [] }
  const passing: (Reply | undefined)[] = []
  const answer = (kind: 'sessions' | 'refunds', id: string, body: object) => {
    return (_query: URLSearchParams, key: string): Reply => {
      const reply = passing.shift()
      // A proxy that refuses a request does not pass it on.
      if (reply?.status === undefined && !made[kind].includes(key)) made[kind].push(key)
      return reply ?? { body: { id, ...body } }
    }
  }
  const provider = await startSmallProvider(t, {
    'POST /v1/checkout/sessions': answer('sessions', 'cs_1', SESSION),
    'GET /v1/checkout/sessions/cs_1': { body: SESSION },
    'POST /v1/refunds': answer('refunds', 're_1', { status: 'succeeded' }),
    'GET /v1/refunds': { body: { data: [] } },
    'GET /v1/refunds/re_1': { body: { id: 're_1', status: 'succeeded', amount: 400 } },
  } satisfies Replies)
  const started = await startPayments(t, {
    env: providerEnv(provider),
    databaseUrl,
    overrides: { providerRetries: 1 },
  })
  const request = checkoutBody()
  const open = (more: object = {}) =>
    started.api.post('/api/checkout/sessions', { ...request, ...more })
  const paid = async (): Promise<string> => {
    const { body } = await open()
    const object = { id: 'cs_1', payment_status: 'paid', payment_intent: 'pi_1' }
    await started.deliver({ id: 'evt_1', type: 'checkout.session.completed', data: { object } })
    return body.paymentId
  }
  const refund = (id: string, reference: string, amount = 400) =>
    started.api.post(`/api/payments/${id}/refund`, { reference, amount })
  return { ...started, made, passing, open, paid, refund }
}

for (const engine of engines)
  describe(`A proxy in front of the provider, on ${engine.name}`, engine.options, () => {
    test('whose 400 follows a lost reply has not refused the refund, which was made', async (t) => {
      const { made, passing, paid, refund } = await start(t, await engine.freshUrl(t))
      const id = await paid()
      passing.push(CUT, PROXY)

      const unknown = await refund(id, 'r')
      const other = await refund(id, 'other', 1000)
      const again = await refund(id, 'r')

      assert.deepEqual([unknown.status, unknown.body.code], [502, 'PROVIDER_FAILED'])
      assert.deepEqual([other.status, other.body.code], [400, 'REFUND_EXCEEDS_BALANCE'])
      assert.deepEqual([again.status, again.body.id], [201, 're_1'])
      assert.equal(made.refunds.length, 1)
    })

    test('whose 400 follows a lost reply has not refused the checkout, which was opened', async (t) => {
      const { made, passing, open } = await start(t, await engine.freshUrl(t))
      passing.push(CUT, PROXY)

      const unknown = await open()
      const differing = await open({ amount: 2000 })
      const again = await open()

      assert.deepEqual([unknown.status, unknown.body.code], [502, 'PROVIDER_FAILED'])
      assert.deepEqual([differing.status, differing.body.code], [409, 'PAYMENT_DIFFERS'])
      assert.deepEqual([again.status, again.body.checkoutSessionId], [201, 'cs_1'])
      assert.equal(made.sessions.length, 1)
    })

    test('whose 400 answers the resent request has not refused what the lost one made', async (t) => {
      const { made, passing, open, paid, refund } = await start(t, await engine.freshUrl(t))
      const id = await paid()
      passing.push(CUT, CUT, PROXY)

      const replies = [await refund(id, 'r'), await refund(id, 'r'), await refund(id, 'r')]

      assert.deepEqual(
        replies.map(({ status }) => status),
        [503, 502, 201],
      )
      assert.equal(made.refunds.length, 1)
      passing.push(CUT, CUT, PROXY)
      const order = { businessReference: 'another order' }
      const opened = [await open(order), await open(order)]
      assert.deepEqual(
        opened.map(({ status }) => status),
        [503, 502],
      )
      assert.equal((await open({ ...order, amount: 2000 })).body.code, 'PAYMENT_DIFFERS')
    })

    test('whose 400 answers the first try has refused it: the reference is free', async (t) => {
      const { made, passing, open } = await start(t, await engine.freshUrl(t))
      passing.push(PROXY)

      const refused = await open()
      const corrected = await open({ amount: 2000 })

      assert.deepEqual([refused.status, corrected.status], [400, 201])
      assert.equal(made.sessions.length, 1)
    })
  })
