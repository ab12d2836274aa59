import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { checkoutSuite, type OpenStripe } from './checkout-suite.ts'
import { orderOf } from './orders.ts'

/**
 * What any provider of this API must do, tested only through the official client. The provider's own
 * test mode must pass it too: that is how the sandbox is kept honest.
 */
export function providerSuite(name: string, open: OpenStripe): void {
  describe(`customers of ${name}`, () => {
    test('are created, read, changed and deleted', async (t) => {
      const stripe = await open(t)

      const made = await stripe.customers.create({
        email: 'jenny@example.com',
        name: 'Jenny',
        description: 'A reader',
        metadata: { order: '6735' },
      })
      const changed = await stripe.customers.update(made.id, { metadata: { order: '', more: 'x' } })
      const gone = await stripe.customers.del(made.id)
      const read = await stripe.customers.retrieve(made.id)

      assert.match(made.id, /^cus_/)
      assert.equal(made.object, 'customer')
      assert.equal(made.livemode, false)
      assert.equal(made.email, 'jenny@example.com')
      assert.deepEqual(made.metadata, { order: '6735' })
      assert.deepEqual(changed.metadata, { more: 'x' })
      assert.deepEqual({ ...gone }, { id: made.id, object: 'customer', deleted: true })
      assert.equal(read.deleted, true)
    })

    test('lose a value that is set to nothing', async (t) => {
      const stripe = await open(t)
      const { id } = await stripe.customers.create({ name: 'Jenny', description: 'A reader' })

      const changed = await stripe.customers.update(id, { name: '' })

      assert.deepEqual([changed.name, changed.description], [null, 'A reader'])
    })

    test('have at most fifty metadata entries, also after a change', async (t) => {
      const stripe = await open(t)
      const full = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`entry ${n}`, 'x']))
      const { id } = await stripe.customers.create({ metadata: full })

      const beyond = stripe.customers.update(id, { metadata: { more: 'x' } })
      await assert.rejects(beyond, { statusCode: 400, rawType: 'invalid_request_error' })
      const changed = await stripe.customers.update(id, { metadata: { 'entry 0': '', more: 'x' } })

      assert.equal(Object.keys(changed.metadata).length, 50)
    })

    test('that do not exist are 404 resource_missing', async (t) => {
      const stripe = await open(t)

      await assert.rejects(stripe.customers.retrieve('cus_missing'), {
        type: 'StripeInvalidRequestError',
        rawType: 'invalid_request_error',
        statusCode: 404,
        code: 'resource_missing',
        param: 'id',
      })
    })

    test('are listed newest first, in pages', async (t) => {
      const stripe = await open(t)
      const email = `${randomUUID()}@example.com`
      const made: string[] = []
      for (let n = 0; n < 3; n++) made.unshift((await stripe.customers.create({ email })).id)

      const first = await stripe.customers.list({ email, limit: 2 })
      const rest = await stripe.customers.list({ email, limit: 2, starting_after: made[1] })
      const back = await stripe.customers.list({ email, limit: 2, ending_before: made[2] })

      assert.deepEqual(
        first.data.map(({ id }) => id),
        made.slice(0, 2),
      )
      assert.equal(first.has_more, true)
      assert.deepEqual(
        rest.data.map(({ id }) => id),
        made.slice(2),
      )
      assert.equal(rest.has_more, false)
      assert.deepEqual(
        back.data.map(({ id }) => id),
        made.slice(0, 2),
      )
    })
  })

  checkoutSuite(name, open)

  describe(`idempotency keys of ${name}`, () => {
    test('answer the same call with the same object', async (t) => {
      const stripe = await open(t)
      const idempotencyKey = randomUUID()

      const first = await stripe.checkout.sessions.create(orderOf(900), { idempotencyKey })
      const again = await stripe.checkout.sessions.create(orderOf(900), { idempotencyKey })

      assert.equal(again.id, first.id)
      assert.equal(first.lastResponse.headers['idempotent-replayed'], undefined)
      assert.equal(again.lastResponse.headers['idempotent-replayed'], 'true')
      assert.equal(again.lastResponse.headers['original-request'], first.lastResponse.requestId)
      assert.notEqual(again.lastResponse.requestId, first.lastResponse.requestId)
    })

    test('refuse other parameters', async (t) => {
      const stripe = await open(t)
      const idempotencyKey = randomUUID()
      await stripe.checkout.sessions.create(orderOf(900), { idempotencyKey })

      const other = stripe.checkout.sessions.create(orderOf(901), { idempotencyKey })

      await assert.rejects(other, {
        type: 'StripeIdempotencyError',
        rawType: 'idempotency_error',
        statusCode: 400,
      })
    })
  })

  describe(`refunds of ${name}`, () => {
    test('of an unknown payment are refused', async (t) => {
      const stripe = await open(t)

      await assert.rejects(stripe.refunds.create({ payment_intent: 'pi_missing' }), {
        type: 'StripeInvalidRequestError',
        code: 'resource_missing',
        param: 'payment_intent',
      })
    })

    test('that do not exist are 404', async (t) => {
      const stripe = await open(t)

      await assert.rejects(stripe.refunds.retrieve('re_missing'), {
        statusCode: 404,
        code: 'resource_missing',
      })
    })
  })

  describe(`webhook endpoints of ${name}`, () => {
    test('show their secret once', async (t) => {
      const stripe = await open(t)

      const made = await stripe.webhookEndpoints.create({
        url: 'https://example.com/hook',
        enabled_events: ['checkout.session.completed'],
      })
      const read = await stripe.webhookEndpoints.retrieve(made.id)
      const changed = await stripe.webhookEndpoints.update(made.id, {
        disabled: true,
        description: '',
      })
      const gone = await stripe.webhookEndpoints.del(made.id)

      assert.match(made.secret ?? '', /^whsec_/)
      assert.equal(read.secret, undefined)
      assert.deepEqual(read.enabled_events, ['checkout.session.completed'])
      assert.deepEqual([changed.status, changed.description], ['disabled', null])
      assert.equal(gone.deleted, true)
    })
  })

  describe(`events of ${name}`, () => {
    test('are found by type and read one by one', async (t) => {
      const stripe = await open(t)
      const { id } = await stripe.customers.create({ email: 'a@example.com' })

      const found = await stripe.events.list({ types: ['customer.created'], limit: 10 })
      const event = found.data.find(({ data }) => (data.object as { id: string }).id === id)
      const read = await stripe.events.retrieve(event?.id ?? '')

      assert.equal(read.type, 'customer.created')
      assert.equal(read.livemode, false)
      assert.match(read.request?.id ?? '', /^req_/)
    })
  })
}
