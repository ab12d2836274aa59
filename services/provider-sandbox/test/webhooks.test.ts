import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { verifyPayload } from '@plinth/kit/tokens'
import { orderOf, paidOrder } from './orders.ts'
import { startReceiver } from './receiver.ts'
import { startSandbox } from './start-sandbox.ts'

const SECRET = 'whsec_test'
const SECOND = 'whsec_second'

async function startBoth(t: TestContext, enabledEvents = ['*']) {
  const sandbox = await startSandbox(t)
  const receiver = await startReceiver(t)
  await sandbox.api.post('/sandbox/api/webhook-endpoints', {
    url: receiver.url,
    secret: SECRET,
    secondSecret: SECOND,
    enabledEvents,
  })
  const flush = () => sandbox.api.post('/sandbox/api/deliveries/flush')
  const turn = (switches: object) => sandbox.api.patch('/sandbox/api/switches', switches)
  return { ...sandbox, receiver, flush, turn }
}

describe('a delivery', () => {
  test('carries the full event, signed over its exact bytes under both names', async (t) => {
    const { stripe, receiver, flush, clock } = await startBoth(t)
    const customer = await stripe.customers.create({ email: 'é@b.c' }, { idempotencyKey: 'k1' })
    await flush()

    const [delivery] = receiver.received
    assert.ok(delivery)
    const { event, body, headers } = delivery
    const signature = headers['provider-signature'] as string
    assert.equal(event.object, 'event')
    assert.equal(event.type, 'customer.created')
    assert.equal(event.livemode, false)
    assert.equal(event.pending_webhooks, 1)
    assert.deepEqual(event.data.object.id, customer.id)
    assert.deepEqual(event.request, {
      id: customer.lastResponse.requestId,
      idempotency_key: 'k1',
    })
    assert.equal(headers['stripe-signature'], signature)
    assert.equal(verifyPayload(body, signature, { secrets: [SECRET], now: clock() }), 'genuine')
    assert.equal(stripe.webhooks.signature?.verifyHeader(body, signature, SECRET, 0), true)
  })

  test('of every kind of event arrives in the order in which it happened', async (t) => {
    const sandbox = await startBoth(t)
    const { intent } = await paidOrder(sandbox)
    await sandbox.stripe.refunds.create({ payment_intent: intent })
    await sandbox.flush()
    const { id } = await sandbox.stripe.checkout.sessions.create(orderOf(500))
    await sandbox.api.post(`/sandbox/api/sessions/${id}/bank-debit`)
    await sandbox.api.post(`/sandbox/api/sessions/${id}/settle`)

    await sandbox.flush()

    assert.deepEqual(sandbox.receiver.types(), [
      'payment_intent.created',
      'charge.succeeded',
      'payment_intent.succeeded',
      'checkout.session.completed',
      'refund.created',
      'charge.refunded',
      'payment_intent.created',
      'charge.pending',
      'payment_intent.processing',
      'checkout.session.completed',
      'charge.succeeded',
      'payment_intent.succeeded',
      'checkout.session.async_payment_succeeded',
    ])
  })

  test('does not wait for one about another payment', async (t) => {
    const { stripe, api, receiver, flush } = await startBoth(t)
    const both = Promise.withResolvers<void>()
    receiver.beforeAnswering = () => {
      if (receiver.received.length === 2) both.resolve()
      return both.promise
    }

    await stripe.customers.create({})
    await stripe.customers.create({})
    await flush()

    const { body: deliveries } = await api.get('/sandbox/api/deliveries')
    for (const { attempts } of deliveries) {
      assert.equal(attempts.length, 1)
      assert.equal(attempts[0].error, null)
    }
  })

  test('arrives in order for each payment while many are delivered at once', async (t) => {
    const sandbox = await startBoth(t)
    const { receiver } = sandbox
    const full = Promise.withResolvers<void>()
    let inFlight = 0
    let most = 0
    receiver.beforeAnswering = async () => {
      inFlight += 1
      most = Math.max(most, inFlight)
      if (inFlight === 16) full.resolve()
      await full.promise
      inFlight -= 1
    }

    await sandbox.turn({ paused: true })
    const paid = await Promise.all(Array.from({ length: 20 }, () => paidOrder(sandbox)))
    await sandbox.turn({ paused: false })
    await sandbox.flush()

    const typesOf = (intent: string) =>
      receiver.received
        .map(({ event }) => event)
        .filter(({ data: { object } }) => [object.id, object.payment_intent].includes(intent))
        .map(({ type }) => type)
    assert.equal(most, 16)
    for (const { intent } of paid)
      assert.deepEqual(typesOf(intent), [
        'payment_intent.created',
        'charge.succeeded',
        'payment_intent.succeeded',
        'checkout.session.completed',
      ])
  })

  test('goes only to endpoints that asked for its type', async (t) => {
    const sandbox = await startBoth(t, ['checkout.session.completed'])
    await paidOrder(sandbox)

    await sandbox.flush()

    assert.deepEqual(sandbox.receiver.types(), ['checkout.session.completed'])
  })

  test('that fails is tried again after longer and longer waits, and logged', async (t) => {
    const { stripe, api, receiver, flush } = await startBoth(t)
    receiver.answerWith = [500, 302]
    await stripe.customers.create({})
    await flush()

    await api.post('/sandbox/api/clock/advance', { seconds: 4 })
    const early = receiver.received.length
    await api.post('/sandbox/api/clock/advance', { seconds: 11 })

    const { body: deliveries } = await api.get('/sandbox/api/deliveries')
    const [delivery] = deliveries
    assert.equal(early, 1)
    assert.equal(delivery.state, 'delivered')
    assert.deepEqual(
      delivery.attempts.map((attempt: { at: string; response: { status: number } }) => [
        attempt.at.slice(11, 19),
        attempt.response.status,
      ]),
      [
        ['00:00:00', 500],
        ['00:00:05', 302],
        ['00:00:15', 200],
      ],
    )
    assert.equal(delivery.attempts[2].response.body, 'thank you')
    assert.match(delivery.attempts[2].request.headers['provider-signature'], /^t=\d+,v1=/)
    assert.match(delivery.attempts[2].request.body, /"type": "customer.created"/)
  })

  test('is given up after three days, and can still be resent by hand', async (t) => {
    const { stripe, api, receiver, flush } = await startBoth(t)
    receiver.answerWith = Array.from({ length: 100 }, () => 503)
    await stripe.customers.create({})

    await api.post('/sandbox/api/clock/advance', { seconds: 4 * 86_400 })
    const failed = await stripe.events.list({ delivery_success: false })
    receiver.answerWith = []
    await api.post(`/sandbox/api/events/${failed.data[0]?.id}/resend`)
    await flush()

    const { body: deliveries } = await api.get('/sandbox/api/deliveries')
    const states = deliveries.map((delivery: { state: string }) => delivery.state)
    assert.deepEqual(states, ['delivered', 'failed'])
    assert.equal(deliveries[1].attempts.length, 16)
  })

  test('to a receiver that never stops answering is delivered, and the reply cut off', async (t) => {
    const { stripe, receiver, flush } = await startBoth(t)
    receiver.answersWithoutEnd = true
    await stripe.customers.create({ email: 'a@b.c' })

    const { body } = await flush()

    assert.equal(body[0].state, 'delivered')
    assert.equal(body[0].attempts[0].response.body.length, 16_384)
  })

  test('to a closed port is a failure to connect', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const url = 'http://127.0.0.1:1/'
    await api.post('/sandbox/api/webhook-endpoints', { url, secret: SECRET })
    await stripe.customers.create({})

    const { body } = await api.post('/sandbox/api/deliveries/flush')

    assert.equal(body[0].state, 'waiting')
    assert.equal(body[0].attempts[0].response, null)
    assert.match(body[0].attempts[0].error, /ECONNREFUSED|bad port|fetch failed/)
  })

  test('that is answered after a reset leaves nothing behind', async (t) => {
    const { stripe, api, receiver, flush } = await startBoth(t)
    const arrived = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    receiver.beforeAnswering = () => {
      arrived.resolve()
      return answered.promise
    }
    await stripe.customers.create({})
    await arrived.promise

    await api.post('/sandbox/api/reset')
    answered.resolve()
    await flush()

    const { body: scenario } = await api.get('/sandbox/api/scenario')
    assert.deepEqual(scenario.tables.delivery_attempts, [])
  })

  test('is signed by the true time when the clock was moved', async (t) => {
    const { stripe, api, receiver, flush, clock } = await startBoth(t)
    await api.post('/sandbox/api/clock/advance', { seconds: 86_400 })
    await stripe.customers.create({})
    await flush()

    const [delivery] = receiver.received
    assert.ok(delivery)
    const signature = delivery.headers['provider-signature'] as string
    const verdict = verifyPayload(delivery.body, signature, { secrets: [SECRET], now: clock() })
    assert.equal(verdict, 'genuine')
    assert.equal(delivery.event.created, clock().getTime() / 1000 + 86_400)
  })
})

describe('a switch', () => {
  test('drops events permanently', async (t) => {
    const { stripe, receiver, flush, turn, api } = await startBoth(t)
    await turn({ drop: ['customer.created'] })
    const { id } = await stripe.customers.create({})
    await stripe.customers.del(id)
    await flush()

    const { body: deliveries } = await api.get('/sandbox/api/deliveries')
    assert.deepEqual(receiver.types(), ['customer.deleted'])
    assert.equal(deliveries[1].state, 'dropped')
  })

  test('holds deliveries back until it is off', async (t) => {
    const { stripe, receiver, flush, turn, api } = await startBoth(t)
    await turn({ paused: true })
    await stripe.customers.create({})
    await flush()
    await api.post('/sandbox/api/clock/advance', { seconds: 3600 })
    const during = receiver.received.length

    await turn({ paused: false })
    await flush()

    assert.equal(during, 0)
    assert.equal(receiver.received.length, 1)
  })

  test('delays deliveries by the clock of the sandbox', async (t) => {
    const { stripe, receiver, flush, turn, api } = await startBoth(t)
    await turn({ delaySeconds: 60 })
    await stripe.customers.create({})
    await flush()
    const during = receiver.received.length

    await api.post('/sandbox/api/clock/advance', { seconds: 60 })

    assert.equal(during, 0)
    assert.equal(receiver.received.length, 1)
  })

  test('delivers each event several times', async (t) => {
    const { stripe, receiver, flush, turn } = await startBoth(t)
    await turn({ duplicates: 2 })
    await stripe.customers.create({})

    await flush()

    const ids = receiver.received.map(({ event }) => event.id)
    assert.equal(ids.length, 3)
    assert.equal(new Set(ids).size, 1)
  })

  test('reverses the order', async (t) => {
    const sandbox = await startBoth(t)
    await sandbox.turn({ reorder: 100 })
    await paidOrder(sandbox)
    const before = sandbox.receiver.received.length

    await sandbox.flush()

    assert.equal(before, 0)
    assert.deepEqual(sandbox.receiver.types(), [
      'checkout.session.completed',
      'payment_intent.succeeded',
      'charge.succeeded',
      'payment_intent.created',
    ])
  })

  test('puts all events into one second', async (t) => {
    const { stripe, receiver, flush, turn, api } = await startBoth(t)
    await turn({ eventSecond: 1_893_456_000 })
    await stripe.customers.create({})
    await api.post('/sandbox/api/clock/advance', { seconds: 90 })
    await stripe.customers.create({})

    await flush()

    assert.deepEqual(
      receiver.received.map(({ event }) => event.created),
      [1_893_456_000, 1_893_456_000],
    )
  })

  for (const [signWith, verdicts] of Object.entries({
    current: ['genuine', 'mismatched'],
    second: ['mismatched', 'genuine'],
    both: ['genuine', 'genuine'],
    wrong: ['mismatched', 'mismatched'],
  }))
    test(`signs with the ${signWith} secret`, async (t) => {
      const { stripe, receiver, flush, turn, clock } = await startBoth(t)
      await turn({ signWith })
      await stripe.customers.create({})
      await flush()

      const [delivery] = receiver.received
      assert.ok(delivery)
      const signature = delivery.headers['provider-signature'] as string
      const verdictOf = (secret: string) =>
        verifyPayload(delivery.body, signature, { secrets: [secret], now: clock() })
      assert.deepEqual([verdictOf(SECRET), verdictOf(SECOND)], verdicts)
    })

  test('changes the API version of events', async (t) => {
    const { stripe, receiver, flush, turn } = await startBoth(t)
    await turn({ apiVersion: '2022-08-01' })
    await stripe.customers.create({})
    await flush()

    assert.equal(receiver.received[0]?.event.api_version, '2022-08-01')
  })

  test('that does not exist is refused', async (t) => {
    const { turn } = await startBoth(t)

    assert.equal((await turn({ dorp: ['*'] })).status, 400)
  })
})

describe('a forged event', () => {
  test('is signed like any other', async (t) => {
    const { api, receiver, flush } = await startBoth(t)
    const object = { id: 'cs_test_forged', object: 'checkout.session', amount_total: 1 }

    const made = await api.post('/sandbox/api/events', {
      type: 'checkout.session.completed',
      object,
      livemode: true,
    })
    await flush()

    assert.equal(made.status, 201)
    assert.equal(receiver.received[0]?.event.livemode, true)
    assert.deepEqual(receiver.received[0]?.event.data.object, object)
  })
})
