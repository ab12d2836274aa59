import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Reply, startSmallProvider } from './small-provider.ts'
import { checkoutBody, providerEnv } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

const PATH = '/v1/checkout/sessions'
const EXPIRE = `POST ${PATH}/cs_1/expire`

for (const engine of engines)
  describe(`an overdue session on ${engine.name}`, engine.options, () => {
    /** A checkout whose open session, according to the provider, lives for `lifetime` seconds. */
    const start = async (t: TestScope, lifetime: number | undefined) => {
      const provider = await startSmallProvider(t, {
        [EXPIRE]: { body: { id: 'cs_1', status: 'expired' } },
      })
      const started = await startPayments(t, {
        env: providerEnv(provider),
        databaseUrl: await engine.freshUrl(t),
      })
      const { clock, api } = started
      const madeAt = Math.floor(clock().getTime() / 1000)
      const expires_at = lifetime === undefined ? undefined : madeAt + lifetime
      const session = { body: { id: 'cs_1', url: 'https://pay.example/cs_1', expires_at } }
      provider.replies[`POST ${PATH}`] = session
      provider.replies[`GET ${PATH}/cs_1`] = session
      const request = checkoutBody()
      await api.post('/api/checkout/sessions', request)
      provider.replies[`POST ${PATH}`] = { body: { id: 'cs_2', url: 'https://pay.example/cs_2' } }
      /** The session that a checkout returns this many seconds after the first one was created. */
      const given = async (seconds: number) => {
        clock.advance(madeAt + seconds - clock().getTime() / 1000)
        const again = { ...request, attemptReference: 'two' }
        const { status, body } = await api.post('/api/checkout/sessions', again)
        assert.equal(status, 201, JSON.stringify(body))
        return body.checkoutSessionId
      }
      const expired = () => provider.asked.includes(EXPIRE)
      /** How a checkout is answered an hour later, when expiring the session gets this reply. */
      const afterExpiry = async (reply: Reply) => {
        provider.replies[EXPIRE] = reply
        clock.advance(3600)
        const again = { ...request, attemptReference: 'two' }
        const { status, body } = await api.post('/api/checkout/sessions', again)
        const tries = provider.asked.filter((path) => path === EXPIRE).length
        return { answer: [status, body.code], tries }
      }
      return { given, expired, session, afterExpiry }
    }

    test('is expired and replaced from the second it becomes overdue', async (t) => {
      const { given, expired } = await start(t, 3600)

      assert.deepEqual([await given(3599), expired()], ['cs_1', false])
      assert.deepEqual([await given(3600), expired()], ['cs_2', true])
    })

    test('is not expired within half an hour, because one of the clocks must be wrong', async (t) => {
      const { given, expired } = await start(t, -60)

      assert.deepEqual([await given(1799), expired()], ['cs_1', false])
      assert.deepEqual([await given(1800), expired()], ['cs_2', true])
    })

    test('that stays open is expired seven times, and then the checkout is 409', async (t) => {
      const { session, afterExpiry } = await start(t, 3600)

      const { answer, tries } = await afterExpiry(session)

      assert.deepEqual(answer, [409, 'CHECKOUT_PROCESSING'])
      assert.equal(tries, 7)
    })

    test('is 502 and is not replaced when the provider does not confirm its expiry', async (t) => {
      const { afterExpiry } = await start(t, 3600)

      const { answer } = await afterExpiry({ status: 500, body: {} })

      assert.deepEqual(answer, [502, 'PROVIDER_FAILED'])
    })

    test('is not assumed when the provider gives no expiry time', async (t) => {
      const { given, expired } = await start(t, undefined)

      assert.deepEqual([await given(7 * 24 * 3600), expired()], ['cs_1', false])
    })
  })
