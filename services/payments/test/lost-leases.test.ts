import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { type Reply, startSmallProvider } from './small-provider.ts'
import { checkoutBody, providerEnv } from './start-loop.ts'
import { bothEngines, startPayments } from './start-payments.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

/** A request for a new session at the provider, and the function that answers it. */
type Call = { key: string; answer: (reply: Reply) => void }

const PATIENT = { providerMilliseconds: 60_000 }
const PATH = '/v1/checkout/sessions'
const sessionOf = (id: string): Reply => ({ body: { id, url: `https://pay.example/${id}` } })
const refusal = (status: number, type: string): Reply => ({
  status,
  body: { error: { type, message: 'No.' } },
})
const REFUSED = refusal(400, 'invalid_request_error')
const RATE_LIMITED = refusal(429, 'invalid_request_error')
const BROKEN = refusal(500, 'api_error')

/** Calls in order of arrival, each taken once. */
function createCalls() {
  const arrived = new EventTarget()
  const waiting: Call[] = []
  return {
    add: (call: Call) => {
      waiting.push(call)
      arrived.dispatchEvent(new Event('call'))
    },
    next: async (): Promise<Call> => {
      while (true) {
        const call = waiting.shift()
        if (call) return call
        await once(arrived, 'call')
      }
    },
  }
}

for (const engine of bothEngines)
  describe(`a node that lost its lease on ${engine.name}`, engine.options, () => {
    /** Two nodes, and a payment whose first attempt has expired. */
    const start = async (t: TestScope) => {
      const calls = createCalls()
      const provider = await startSmallProvider(t, {
        [`POST ${PATH}`]: (_, key) =>
          new Promise<Reply>((answer) => {
            calls.add({ key, answer })
          }),
        [`GET ${PATH}`]: BROKEN,
        [`GET ${PATH}/cs_1`]: { body: { id: 'cs_1', status: 'expired' } },
        [`GET ${PATH}/cs_2`]: sessionOf('cs_2'),
      })
      const options = {
        env: providerEnv(provider),
        databaseUrl: await engine.freshUrl(t),
        // A lease is lost only when the test says so, and no call times out before its answer.
        overrides: { providerRetries: 0, leaseSeconds: 600, ...PATIENT },
      }
      const [slow, other] = [await startPayments(t, options), await startPayments(t, options)]
      const request = checkoutBody()
      const first = slow.api.post('/api/checkout/sessions', request)
      ;(await calls.next()).answer(sessionOf('cs_1'))
      await first
      const second = ({ api }: typeof slow) =>
        api.post('/api/checkout/sessions', { ...request, attemptReference: 'two' })
      const loseLease = () => slow.payments.db.deleteFrom('leases').execute()
      return { calls, slow, other, second, loseLease }
    }

    test('withdraws only its own attempt, not the one that came after it', async (t) => {
      const { calls, slow, other, second, loseLease } = await start(t)
      const late = second(slow)
      const lateCall = await calls.next()
      await loseLease()
      const taken = second(other)
      ;(await calls.next()).answer(REFUSED)
      const newCall = await calls.next()

      lateCall.answer(REFUSED)
      const refused = await late
      newCall.answer(sessionOf('cs_2'))
      const reply = await Promise.race([taken, calls.next().then(() => assert.fail('sent again'))])

      assert.equal(refused.status, 400)
      assert.equal(reply.status, 201)
      assert.equal(reply.body.checkoutSessionId, 'cs_2')
    })

    test('is not waited for when its lease dates from before the clock was set back', async (t) => {
      const { calls, slow, second } = await start(t)
      const { id } = await slow.payments.db
        .selectFrom('payments')
        .select('id')
        .executeTakeFirstOrThrow()
      await slow.payments.db
        .insertInto('leases')
        .values({ name: `payment:${id}`, holder: 'dead', until_ms: 9_999_999_999_999 })
        .execute()

      const taken = second(slow)
      ;(await calls.next()).answer(sessionOf('cs_2'))

      assert.equal((await taken).status, 201)
    })

    test('leaves the idempotency key to others when only its own request was turned away', async (t) => {
      const { calls, slow, other, second, loseLease } = await start(t)
      const late = second(slow)
      const lateCall = await calls.next()
      await loseLease()
      const lost = second(other)
      const lostCall = await calls.next()
      lostCall.answer(BROKEN)
      const unknown = await lost
      lateCall.answer(RATE_LIMITED)
      const limited = await late

      const again = second(other)
      const call = await calls.next()
      call.answer(sessionOf('cs_2'))

      assert.deepEqual([unknown.status, limited.status], [502, 429])
      assert.equal(call.key, lostCall.key)
      assert.equal((await again).body.checkoutSessionId, 'cs_2')
    })
  })
