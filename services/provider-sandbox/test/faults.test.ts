import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../../../test/until.ts'
import { startSandbox, stripeFor } from './start-sandbox.ts'

type Expected = { error: object; made: number }

const CONNECTION = { type: 'StripeConnectionError' }

/** Each kind, the error of the official client, and whether the customer was created. */
const KINDS: Record<string, Expected> = {
  'error-before': { error: { type: 'StripeAPIError', statusCode: 500 }, made: 0 },
  'error-instead': { error: { type: 'StripeAPIError', statusCode: 500 }, made: 0 },
  'error-after': { error: { type: 'StripeAPIError', statusCode: 500 }, made: 1 },
  'in-use': {
    error: { type: 'StripeAPIError', statusCode: 409, code: 'idempotency_key_in_use' },
    made: 0,
  },
  unauthorized: { error: { type: 'StripeAuthenticationError', statusCode: 401 }, made: 0 },
  forbidden: { error: { type: 'StripePermissionError', statusCode: 403 }, made: 0 },
  'rate-limit': { error: { type: 'StripeRateLimitError', statusCode: 429 }, made: 0 },
  'html-before': { error: { type: 'StripeAPIError' }, made: 0 },
  'html-after': { error: { type: 'StripeAPIError' }, made: 1 },
  truncated: { error: CONNECTION, made: 1 },
}

describe('a fault', () => {
  for (const [kind, { error, made }] of Object.entries(KINDS))
    test(`of the kind ${kind} strikes once`, async (t) => {
      const { api, stripe } = await startSandbox(t)
      await api.post('/sandbox/api/faults', { kind, route: 'POST /v1/customers' })

      await assert.rejects(stripe.customers.create({ email: 'a@b.c' }), error)

      assert.equal((await stripe.customers.list()).data.length, made)
      assert.ok(await stripe.customers.create({ email: 'a@b.c' }))
    })

  for (const [kind, made] of [
    ['reset-before', 0],
    ['reset-after', 1],
  ] as const)
    test(`of the kind ${kind} breaks the connection`, async (t) => {
      const { api, stripe } = await startSandbox(t)
      await api.post('/sandbox/api/faults', { kind, route: 'POST *', times: 2 })

      await assert.rejects(stripe.customers.create({ email: 'a@b.c' }), CONNECTION)

      assert.equal((await stripe.customers.list()).data.length, made)
    })

  test('rate-limit says when to retry', async (t) => {
    const { api } = await startSandbox(t)
    await api.post('/sandbox/api/faults', { kind: 'rate-limit', retryAfterSeconds: 7 })

    const reply = await api.get('/v1/balance', { token: 'sk_test_x' })

    assert.equal(reply.status, 429)
    assert.equal(reply.headers.get('retry-after'), '7')
  })

  test('outage lasts until it is removed', async (t) => {
    const { api, stripe } = await startSandbox(t)
    const { body: fault } = await api.post('/sandbox/api/faults', { kind: 'outage' })

    await assert.rejects(stripe.balance.retrieve(), CONNECTION)
    await assert.rejects(stripe.customers.create({}), CONNECTION)
    const removed = await api.delete(`/sandbox/api/faults/${fault.id}`)

    assert.equal(removed.status, 204)
    assert.ok(await stripe.balance.retrieve())
  })

  test('hold does the work and keeps the answer until it is released', async (t) => {
    const { api, stripe } = await startSandbox(t)
    await api.post('/sandbox/api/faults', { kind: 'hold', route: 'POST /v1/customers' })
    const held = stripe.customers.create({ email: 'a@b.c' })

    await until(
      () => stripe.customers.list(),
      ({ data }) => data.length > 0,
    )
    await until(
      () => api.post('/sandbox/api/faults/release'),
      ({ body }) => body.released > 0,
    )

    assert.match((await held).id, /^cus_/)
  })

  test('hang ends when the client gives up, and nothing was done', async (t) => {
    const { api, stripe } = await startSandbox(t)
    await api.post('/sandbox/api/faults', { kind: 'hang', route: 'POST /v1/customers' })
    const options = { timeout: 50, idempotencyKey: 'k1' }

    await assert.rejects(stripe.customers.create({ email: 'a@b.c' }, options), CONNECTION)

    const listed = await stripe.customers.list()
    assert.equal(listed.data.length, 0)
  })

  test('latency answers late', async (t) => {
    const { api, stripe } = await startSandbox(t)
    await api.post('/sandbox/api/faults', { kind: 'latency', delayMs: 60 })
    const started = performance.now()

    await stripe.balance.retrieve()

    assert.ok(performance.now() - started >= 55)
  })

  test('latency ends when the sandbox closes', { timeout: 20_000 }, async (t) => {
    const { api, stripe, server } = await startSandbox(t)
    await api.post('/sandbox/api/faults', { kind: 'latency', delayMs: 60_000 })
    const call = stripe.customers.create({})
    await until(
      () => api.get('/sandbox/api/faults'),
      ({ body }) => body.faults.length === 0,
    )

    const closing = server.close()

    assert.ok(await call)
    server.server.closeAllConnections()
    await closing
  })

  test('with a probability strikes the same calls for the same seed', async (t) => {
    const strikesOf = async (seed: string) => {
      const { api, port } = await startSandbox(t, { SANDBOX_SEED: seed })
      const stripe = stripeFor(port)
      const fault = { kind: 'forbidden', probability: 0.5, times: null }
      await api.post('/sandbox/api/faults', fault)
      const calls: boolean[] = []
      for (let n = 0; n < 20; n++)
        calls.push(
          await stripe.balance.retrieve().then(
            () => false,
            () => true,
          ),
        )
      return calls
    }

    const first = await strikesOf('one')

    assert.deepEqual(await strikesOf('one'), first)
    assert.notDeepEqual(await strikesOf('two'), first)
    assert.ok(first.includes(true) && first.includes(false))
  })

  test('of an unknown kind is refused', async (t) => {
    const { api } = await startSandbox(t)

    const reply = await api.post('/sandbox/api/faults', { kind: 'plague', times: 0 })

    assert.equal(reply.status, 400)
    assert.equal(reply.body.code, 'VALIDATION_ERROR')
  })
})
