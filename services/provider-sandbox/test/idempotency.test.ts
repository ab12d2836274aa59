import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Api } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { orderOf, paidOrder } from './orders.ts'
import { startSandbox, stripeFor } from './start-sandbox.ts'

/** A raw call, to see the bytes and headers on the wire. */
const createCustomer = (api: Api, key: string, body = 'email=a%40b.c&name=Jenny') =>
  api.request('POST', '/v1/customers', {
    token: 'sk_test_x',
    headers: { 'idempotency-key': key, 'content-type': 'application/x-www-form-urlencoded' },
    body,
  })

describe('an idempotency key', () => {
  test('replays the first answer byte for byte, regardless of the order of the parameters', async (t) => {
    const { api, stripe } = await startSandbox(t)

    const first = await createCustomer(api, 'k1')
    const again = await createCustomer(api, 'k1', 'name=Jenny&email=a%40b.c')

    assert.equal(first.status, 200)
    assert.equal(first.headers.get('idempotency-key'), 'k1')
    assert.equal(first.headers.get('idempotent-replayed'), null)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.equal(again.headers.get('original-request'), first.headers.get('request-id'))
    assert.deepEqual(again.bytes, first.bytes)
    assert.equal((await stripe.customers.list()).data.length, 1)
  })

  test('is refused with other parameters and at another endpoint', async (t) => {
    const sandbox = await startSandbox(t)
    await createCustomer(sandbox.api, 'k1')

    const otherName = await createCustomer(sandbox.api, 'k1', 'name=Jane')
    const otherPath = sandbox.stripe.checkout.sessions.create(orderOf(1000), {
      idempotencyKey: 'k1',
    })

    assert.equal(otherName.status, 400)
    assert.equal(otherName.body.error.type, 'idempotency_error')
    await assert.rejects(otherPath, { type: 'StripeIdempotencyError' })
  })

  test('is in use while the first call is in progress', async (t) => {
    const { api } = await startSandbox(t)
    await api.post('/sandbox/api/faults', { kind: 'hang', route: 'POST /v1/customers' })
    const hanging = createCustomer(api, 'k1').catch((error: Error) => error)

    const second = await untilInUse(api)
    await api.post('/sandbox/api/faults/release')
    const first = await hanging
    const third = await createCustomer(api, 'k1')

    assert.equal(second.status, 409)
    assert.equal(second.body.error.code, 'idempotency_key_in_use')
    assert.ok(first instanceof Error)
    assert.equal(third.status, 200)
  })

  test('is forgotten after a day', async (t) => {
    const { api } = await startSandbox(t)
    const first = await createCustomer(api, 'k1')

    await api.post('/sandbox/api/clock/advance', { seconds: 86_399 })
    const within = await createCustomer(api, 'k1')
    await api.post('/sandbox/api/clock/advance', { seconds: 1 })
    const after = await createCustomer(api, 'k1')

    assert.equal(within.body.id, first.body.id)
    assert.notEqual(after.body.id, first.body.id)
  })

  test('does not keep a refusal of the parameters', async (t) => {
    const { api } = await startSandbox(t)

    const refused = await createCustomer(api, 'k1', 'colour=red')
    const corrected = await createCustomer(api, 'k1')

    assert.equal(refused.status, 400)
    assert.equal(corrected.status, 200)
  })

  test('keeps a refusal that depended on the current state', async (t) => {
    const sandbox = await startSandbox(t)
    const { intent } = await paidOrder(sandbox)
    const refund = () =>
      sandbox.stripe.refunds.create(
        { payment_intent: intent, amount: 2000 },
        { idempotencyKey: 'k2' },
      )

    await assert.rejects(refund(), { statusCode: 400 })
    await assert.rejects(refund(), (error: { headers: Record<string, string> }) => {
      assert.equal(error.headers['idempotent-replayed'], 'true')
      return true
    })
  })

  test('keeps a failure after the effect: the 500 is replayed and the object exists', async (t) => {
    const { api, stripe } = await startSandbox(t)
    await api.post('/sandbox/api/faults', { kind: 'error-after', route: 'POST /v1/customers' })

    const first = await createCustomer(api, 'k1')
    const again = await createCustomer(api, 'k1')

    assert.equal(first.status, 500)
    assert.equal(first.headers.get('stripe-should-retry'), 'false')
    assert.equal(again.status, 500)
    assert.deepEqual(again.bytes, first.bytes)
    assert.equal((await stripe.customers.list()).data.length, 1)
  })

  test('keeps a failure instead of the effect too', async (t) => {
    const { api, stripe } = await startSandbox(t)
    await api.post('/sandbox/api/faults', { kind: 'error-instead' })

    const first = await createCustomer(api, 'k1')
    const again = await createCustomer(api, 'k1')

    assert.equal(first.status, 500)
    assert.deepEqual(again.bytes, first.bytes)
    assert.equal((await stripe.customers.list()).data.length, 0)
  })

  test('works for the client, which sends one by itself when it retries', async (t) => {
    const { api, stripe, port } = await startSandbox(t)
    await api.post('/sandbox/api/faults', { kind: 'reset-after', route: 'POST /v1/customers' })

    const customer = await stripeFor(port).customers.create({ email: 'a@b.c' })

    const listed = await stripe.customers.list()
    assert.deepEqual(
      listed.data.map(({ id }) => id),
      [customer.id],
    )
  })

  test('of 256 characters is refused', async (t) => {
    const { api } = await startSandbox(t)

    assert.equal((await createCustomer(api, 'k'.repeat(255))).status, 200)
    assert.equal((await createCustomer(api, 'k'.repeat(256))).status, 400)
  })
})

/** Once the fault is spent, the first call holds its key. */
async function untilInUse(api: Api) {
  await until(
    () => api.get('/sandbox/api/faults'),
    ({ body }) => body.faults.length === 0,
  )
  return createCustomer(api, 'k1')
}
