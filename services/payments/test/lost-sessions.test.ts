import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { testClock } from '@plinth/kit/testing'
import { type Reply, startSmallProvider } from './small-provider.ts'
import { checkoutBody, providerEnv, startSandbox } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

const DAY = 24 * 3600
const CREATE = 'POST /v1/checkout/sessions'
const LIST = 'GET /v1/checkout/sessions'
const FOUND: Reply = { body: { id: 'cs_lost', url: 'https://pay.example/cs_lost' } }
const BROKEN: Reply = { status: 500, body: { error: { type: 'api_error', message: 'Broken.' } } }
const KEY_USED: Reply = {
  status: 400,
  body: { error: { type: 'idempotency_error', message: 'Other parameters.' } },
}

for (const engine of engines)
  describe(`the search for a lost session on ${engine.name}`, engine.options, () => {
    /** A provider that answers requests for new sessions with `replies`, and then lists a lost session. */
    const start = async (t: TestScope, replies: Reply[]) => {
      const listed = async () => {
        const { body } = await started.api.get('/api/payments')
        const metadata = { paymentId: body.content[0].id }
        return { body: { data: [{ id: 'cs_lost', metadata }], has_more: false } }
      }
      const provider = await startSmallProvider(t, {
        [CREATE]: () => replies.shift() ?? BROKEN,
        [LIST]: listed,
        [`${LIST}/cs_lost`]: FOUND,
      })
      const started = await startPayments(t, {
        env: providerEnv(provider),
        databaseUrl: await engine.freshUrl(t),
        overrides: { providerRetries: 0 },
      })
      const request = checkoutBody()
      const open = () => started.api.post('/api/checkout/sessions', request)
      const created = () => provider.asked.filter((path) => path === CREATE).length
      return { ...started, provider, open, created }
    }

    test('finds a session that the provider’s clock dates in the future', async (t) => {
      const ahead = testClock()
      ahead.advance(3600)
      const sandbox = await startSandbox(t, ahead)
      const { api } = await startPayments(t, {
        env: providerEnv(sandbox),
        databaseUrl: await engine.freshUrl(t),
        overrides: { providerRetries: 0 },
      })
      const request = checkoutBody()
      await sandbox.fault({ kind: 'error-after', route: CREATE })
      const lost = await api.post('/api/checkout/sessions', request)

      const found = await api.post('/api/checkout/sessions', request)

      assert.deepEqual([lost.status, found.status], [502, 201])
      const sessions: { id: string }[] = await sandbox.sessions()
      assert.deepEqual(
        sessions.map(({ id }) => id),
        [found.body.checkoutSessionId],
      )
    })

    test('runs before a key that was used with other content is abandoned', async (t) => {
      const { open, created } = await start(t, [BROKEN, KEY_USED])
      const unknown = await open()

      const found = await open()

      assert.equal(unknown.status, 502)
      assert.equal(found.status, 201, JSON.stringify(found.body))
      assert.equal(found.body.checkoutSessionId, 'cs_lost')
      assert.equal(created(), 2)
    })

    test('also runs when the first request meets such a key', async (t) => {
      const { open, created } = await start(t, [KEY_USED])

      const found = await open()

      assert.equal(found.status, 201, JSON.stringify(found.body))
      assert.equal(found.body.checkoutSessionId, 'cs_lost')
      assert.equal(created(), 1)
    })

    test('allows another attempt when it finds nothing under such a key', async (t) => {
      const { open, created, provider } = await start(t, [BROKEN, KEY_USED, FOUND])
      provider.replies[LIST] = { body: { data: [], has_more: false } }
      await open()

      const made = await open()

      assert.equal(made.status, 201, JSON.stringify(made.body))
      assert.equal(created(), 3)
    })

    test('is 502 when the provider has no list, and nothing new is created', async (t) => {
      const { open, created, clock, provider } = await start(t, [BROKEN])
      delete provider.replies[LIST]
      await open()
      clock.advance(DAY)

      const reply = await open()

      assert.equal(reply.status, 502)
      assert.equal(reply.body.code, 'PROVIDER_INCONSISTENT')
      assert.equal(created(), 1)
    })
  })
