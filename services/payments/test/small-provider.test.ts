import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Replies, startSmallProvider } from './small-provider.ts'
import { checkoutBody, providerEnv } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

const REPLIES = (): Replies => ({
  'POST /v1/customers': { body: { id: 'cus_1' } },
  'POST /v1/checkout/sessions': { body: { id: 'cs_1', url: 'https://pay.example/cs_1' } },
  'GET /v1/checkout/sessions/cs_1': { body: { id: 'cs_1', url: 'https://pay.example/cs_1' } },
  'POST /v1/refunds': { body: { id: 're_1', status: 'succeeded' } },
  'GET /v1/refunds/re_1': { body: { id: 're_1', status: 'succeeded', amount: 400 } },
})

const REFUSED = { error: { type: 'invalid_request_error', message: 'No.' } }

async function startWith(t: TestScope, databaseUrl: string) {
  const provider = await startSmallProvider(t, REPLIES())
  const started = await startPayments(t, {
    env: providerEnv(provider),
    databaseUrl,
    overrides: { providerRetries: 0, providerMilliseconds: 60_000 },
  })
  const { api, deliver } = started
  const payment = async (id: string) => (await api.get(`/api/payments/${id}`)).body
  const refund = (id: string, request: object) => api.post(`/api/payments/${id}/refund`, request)
  const paid = async (name = '1'): Promise<string> => {
    const { body } = await api.post('/api/checkout/sessions', checkoutBody())
    const session = { id: `cs_${name}`, payment_status: 'paid', payment_intent: `pi_${name}` }
    await deliver(eventOf('checkout.session.completed', session))
    return body.paymentId
  }
  return { ...started, provider, payment, refund, paid }
}

function eventOf(type: string, object: { id: string; status?: string; amount?: number }) {
  return { id: `evt_${type}_${object.id}`, type, data: { object } }
}

const UNEXPLAINED: [sent: number, answered: number][] = [
  [200, 502],
  [400, 400],
  [401, 503],
  [403, 503],
  [404, 404],
  [429, 429],
  [500, 502],
]

for (const engine of engines)
  describe(`A provider with minimal replies, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestScope) => startWith(t, await engine.freshUrl(t))

    test('is enough for a customer', async (t) => {
      const { api } = await start(t)
      const request = { email: 'ada@example.com', name: 'Ada', metadata: { tier: 'gold' } }
      const { status, body } = await api.post('/api/customers', request)
      assert.equal(status, 201)
      assert.deepEqual(body, { id: 'cus_1', description: null, ...request })
    })

    for (const [sent, answered] of UNEXPLAINED)
      test(`that answers a bare ${sent} leads to ${answered}, never to a success`, async (t) => {
        const { api, provider } = await start(t)
        Object.assign(provider.replies, { 'GET /v1/customers/cus_1': { status: sent, body: {} } })
        assert.equal((await api.get('/api/customers/cus_1')).status, answered)
      })

    test('that knows no customers at all leads to 502 for a new one', async (t) => {
      const { api, provider } = await start(t)
      delete provider.replies['POST /v1/customers']

      const reply = await api.post('/api/customers', { email: 'ada@example.com' })

      assert.equal(reply.status, 502)
      assert.equal(reply.body.title, 'Provider request failed')
    })

    test('that knows no checkouts leads to 502, or 400 when the request names a customer', async (t) => {
      const { api, provider } = await start(t)
      delete provider.replies['POST /v1/checkout/sessions']
      const open = (request: object) => api.post('/api/checkout/sessions', checkoutBody(request))

      assert.equal((await open({})).status, 502)
      assert.equal((await open({ providerCustomerId: 'cus_9' })).status, 400)
      assert.equal((await api.get('/api/payments')).body.totalElements, 0)
    })

    test('that gives one session to two payments leads to 502 for the second', async (t) => {
      const { api, payment, provider } = await start(t)
      const open = (request: object) => api.post('/api/checkout/sessions', request)
      const [one, two] = [checkoutBody(), checkoutBody()]
      const replies = await Promise.all([open(one), open(two)])
      const [first, second] = replies.toSorted((left, right) => left.status - right.status)
      assert.deepEqual([first?.status, second?.status], [201, 502])
      assert.equal(second?.body.code, 'PROVIDER_INCONSISTENT')

      const unlucky = replies[0] === first ? two : one
      const path = `/api/payments?businessReference=${unlucky.businessReference}`
      const [kept] = (await api.get(path)).body.content
      assert.equal(kept.status, 'PENDING')
      const timeline = await api.get(`/api/payments/${kept.id}/timeline`)
      assert.equal(timeline.body.observations.at(-1).anomaly, 'SESSION_USED_ELSEWHERE')
      assert.equal((await payment(first?.body.paymentId)).checkoutStatus, 'OPEN')

      const url = 'https://pay.example/cs_2'
      provider.replies['POST /v1/checkout/sessions'] = { body: { id: 'cs_2', url } }
      provider.replies['GET /v1/checkout/sessions/cs_2'] = { body: { id: 'cs_2', url } }
      const corrected = await open(unlucky)
      assert.equal(corrected.status, 201)
      assert.deepEqual(corrected.body, {
        paymentId: kept.id,
        checkoutSessionId: 'cs_2',
        checkoutUrl: url,
      })
    })

    test('that gives the session of an ended attempt to the next one leads to 502', async (t) => {
      const { api, deliver, provider } = await start(t)
      const request = checkoutBody()
      await api.post('/api/checkout/sessions', request)
      await deliver(eventOf('checkout.session.expired', { id: 'cs_1' }))

      const again = { ...request, attemptReference: 'attempt-2' }
      const reply = await api.post('/api/checkout/sessions', again)

      assert.equal(reply.status, 502)
      assert.equal(reply.body.code, 'PROVIDER_INCONSISTENT')
      const created = provider.asked.filter((path) => path === 'POST /v1/checkout/sessions')
      assert.equal(created.length, 2)
    })

    test('that gives one refund to two payments leads to 502 for the second', async (t) => {
      const { api, payment, provider, paid, refund } = await start(t)
      const first = await paid()
      provider.replies['POST /v1/checkout/sessions'] = {
        body: { id: 'cs_2', url: 'https://pay.example/cs_2' },
      }
      const second = await paid('2')
      assert.equal((await refund(first, { reference: 'r' })).status, 201)

      const reply = await refund(second, { reference: 'r' })

      assert.equal(reply.status, 502)
      assert.equal(reply.body.code, 'PROVIDER_INCONSISTENT')
      assert.equal((await payment(first)).status, 'REFUNDED')
      assert.equal((await payment(second)).status, 'PAID')
      const { body } = await api.get(`/api/payments/${second}/timeline`)
      assert.equal(body.observations.at(-1).anomaly, 'REFUND_USED_ELSEWHERE')
      assert.equal(body.refundableAmount, 0)
    })

    test('that gives one refund to two payments at once leads to 502 for one of them', async (t) => {
      const { payment, provider, paid, refund } = await start(t)
      const first = await paid()
      provider.replies['POST /v1/checkout/sessions'] = { body: { id: 'cs_2', url: 'https://p' } }
      const second = await paid('2')
      const both = Promise.withResolvers<void>()
      let posts = 0
      provider.replies['POST /v1/refunds'] = async () => {
        posts += 1
        if (posts === 2) both.resolve()
        await both.promise
        return { body: { id: 're_1', status: 'succeeded' } }
      }

      const replies = await Promise.all([first, second].map((id) => refund(id, { reference: 'r' })))

      assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 502])
      const shown = [await payment(first), await payment(second)]
      assert.deepEqual(shown.map(({ status }) => status).sort(), ['PAID', 'REFUNDED'])
    })

    test('that refused a refund and made it all the same is not asked for another', async (t) => {
      const { provider, paid, refund, deliver, payment } = await start(t)
      const id = await paid()
      provider.replies['POST /v1/refunds'] = { status: 400, body: REFUSED }
      const refused = await refund(id, { reference: 'r', amount: 400 })
      const made = { id: 're_1', status: 'succeeded', amount: 400, payment_intent: 'pi_1' }
      await deliver(
        eventOf('refund.created', { ...made, metadata: { refundReference: 'r' } } as typeof made),
      )

      const again = await refund(id, { reference: 'r', amount: 400 })

      assert.equal(refused.status, 400)
      assert.deepEqual([again.status, again.body.id], [201, 're_1'])
      assert.equal((await payment(id)).refundedAmount, 400)
      assert.equal(provider.asked.filter((path) => path === 'POST /v1/refunds').length, 1)
    })

    test('that refunded elsewhere is believed when it refuses a refund', async (t) => {
      const { provider, paid, refund } = await start(t)
      const id = await paid()
      const elsewhere = { id: 're_9', status: 'succeeded', amount: 700, payment_intent: 'pi_1' }
      provider.replies['POST /v1/refunds'] = { status: 400, body: REFUSED }
      provider.replies['GET /v1/refunds'] = { body: { data: [elsewhere] } }

      const { status, body } = await refund(id, { reference: 'r', amount: 400 })

      assert.deepEqual([status, body.code], [400, 'REFUND_EXCEEDS_BALANCE'])
      assert.equal(body.refundableAmount, 300)
    })

    test('that lists a refund of another reference has not made the one that was lost', async (t) => {
      const { provider, paid, refund } = await start(t)
      const id = await paid()
      const made = { id: 're_0', status: 'succeeded', amount: 100, payment_intent: 'pi_1' }
      const other = { ...made, metadata: { refundReference: 'other' } }
      provider.replies['GET /v1/refunds'] = { body: { data: [other] } }
      provider.replies['POST /v1/refunds'] = { status: 500, body: {} }
      assert.equal((await refund(id, { reference: 'r', amount: 400 })).status, 502)
      provider.replies['POST /v1/refunds'] = { body: { id: 're_1', status: 'succeeded' } }

      const { status, body } = await refund(id, { reference: 'r', amount: 400 })

      assert.deepEqual([status, body.id, body.amount], [201, 're_1', 400])
    })

    test('that refunds too much has its event retried until it fits, with the tries counted', async (t) => {
      const { api, clock, paid, deliver, payment } = await start(t)
      const id = await paid()
      const refundOf = (name: string, amount: number, status = 'succeeded') =>
        ({ id: name, status, amount, payment_intent: 'pi_1' }) as { id: string }
      await deliver(eventOf('refund.created', refundOf('re_1', 800)))
      const tooMuch = eventOf('refund.created', refundOf('re_2', 500))
      const refused = await deliver(tooMuch)
      const inbox = async () => {
        const { body } = await api.get('/api/webhook-events?sort=receivedAt,asc')
        const { status, tries, nextTryAt } = body.content.find(
          (event: { id: string }) => event.id === tooMuch.id,
        )
        return { status, tries, nextTryAt }
      }
      const waiting = await inbox()

      clock.advance(5)
      const session = { id: 'cs_1', payment_status: 'paid', payment_intent: 'pi_1' }
      await deliver({
        id: 'evt_again',
        type: 'checkout.session.completed',
        data: { object: session },
      })
      const unmoved = await inbox()
      await deliver(eventOf('refund.failed', refundOf('re_1', 800, 'failed')))
      const accepted = await deliver(tooMuch)

      assert.deepEqual([refused.status, waiting.status, waiting.tries], [500, 'FAILED', 1])
      assert.deepEqual(unmoved, waiting)
      assert.deepEqual([accepted.status, accepted.body.status], [200, 'PROCESSED'])
      assert.equal((await inbox()).tries, 2)
      assert.equal((await payment(id)).refundedAmount, 500)
    })

    test('that refunds another amount under our reference has not made our refund', async (t) => {
      const { provider, paid, refund, deliver } = await start(t)
      const id = await paid()
      provider.replies['POST /v1/refunds'] = { status: 500, body: {} }
      assert.equal((await refund(id, { reference: 'r', amount: 400 })).status, 502)
      const other = { id: 're_5', status: 'succeeded', amount: 100, payment_intent: 'pi_1' }
      const named = { ...other, metadata: { refundReference: 'r' } }
      await deliver(eventOf('refund.created', named as { id: string }))
      provider.replies['POST /v1/refunds'] = { body: { id: 're_1', status: 'succeeded' } }

      const { status, body } = await refund(id, { reference: 'r', amount: 400 })

      assert.deepEqual([status, body.id, body.amount], [201, 're_1', 400])
    })

    test('that has lost a refund it made leads to 502 and is never asked for another', async (t) => {
      const { provider, paid, refund } = await start(t)
      const id = await paid()
      const request = { reference: 'r', amount: 400 }
      assert.equal((await refund(id, request)).status, 201)
      delete provider.replies['GET /v1/refunds/re_1']

      const reply = await refund(id, request)

      assert.deepEqual([reply.status, reply.body.code], [502, 'PROVIDER_INCONSISTENT'])
      assert.equal(provider.asked.filter((path) => path === 'POST /v1/refunds').length, 1)
    })

    test('that has lost the intent of a refund with an unknown outcome leads to 502', async (t) => {
      const { provider, paid, refund, clock } = await start(t)
      const id = await paid()
      Object.assign(provider.replies, { 'POST /v1/refunds': { status: 500, body: {} } })
      assert.equal((await refund(id, { reference: 'r' })).status, 502)
      clock.advance(25 * 3600)

      const reply = await refund(id, { reference: 'r' })

      assert.deepEqual([reply.status, reply.body.code], [502, 'PROVIDER_INCONSISTENT'])
      assert.equal(provider.asked.filter((path) => path === 'POST /v1/refunds').length, 1)
    })

    test('is enough for a checkout, its reuse and a payment', async (t) => {
      const { api, payment } = await start(t)
      const request = checkoutBody()
      const first = await api.post('/api/checkout/sessions', request)
      const again = await api.post('/api/checkout/sessions', request)
      assert.deepEqual([first.status, again.status], [201, 201])
      assert.deepEqual(first.body, again.body)
      assert.equal(first.body.checkoutUrl, 'https://pay.example/cs_1')
      assert.equal((await payment(first.body.paymentId)).checkoutStatus, 'OPEN')
    })

    test('that gives a session without a URL leads to 502 for the checkout', async (t) => {
      const { api, provider } = await start(t)
      provider.replies['POST /v1/checkout/sessions'] = { body: { id: 'cs_1' } }

      const reply = await api.post('/api/checkout/sessions', checkoutBody())

      assert.equal(reply.status, 502)
      assert.equal(reply.body.title, 'Provider request failed')
    })

    test('is enough for a refund', async (t) => {
      const { api, payment, paid, refund } = await start(t)
      const id = await paid()
      const { status, body } = await refund(id, {
        amount: 400,
        reason: 'DUPLICATE',
        reference: 'r-1',
        metadata: { why: 'late' },
      })
      assert.equal(status, 201)
      const { businessReference } = await payment(id)
      assert.deepEqual(body, {
        id: 're_1',
        paymentId: id,
        paymentIntentId: 'pi_1',
        amount: 400,
        currency: 'eur',
        status: 'succeeded',
        reason: 'duplicate',
        metadata: { why: 'late', businessReference, refundReference: 'r-1' },
      })
      assert.equal((await payment(id)).refundedAmount, 400)
      assert.equal((await api.get(`/api/payments/${id}/timeline`)).body.refundableAmount, 600)
      const read = await api.get('/api/refunds/re_1')
      assert.equal(read.body.paymentId, id)
    })

    test('is not asked for a refund when nothing is left to refund', async (t) => {
      const { provider, paid, payment, refund } = await start(t)
      const id = await paid()
      provider.replies['POST /v1/refunds'] = { body: { id: 're_1', status: 'pending' } }
      const all = await refund(id, { reference: 'all' })

      const rest = await refund(id, { reference: 'rest' })

      assert.deepEqual([all.status, all.body.amount], [201, 1000])
      assert.equal((await payment(id)).status, 'PAID')
      assert.deepEqual([rest.status, rest.body.code], [400, 'REFUND_EXCEEDS_BALANCE'])
      assert.equal(rest.body.refundableAmount, 0)
      assert.equal(provider.asked.filter((path) => path === 'POST /v1/refunds').length, 1)
    })

    test('may refuse a refund without offering a list of refunds', async (t) => {
      const { provider, paid, refund } = await start(t)
      const id = await paid()
      Object.assign(provider.replies, { 'POST /v1/refunds': { status: 400, body: REFUSED } })
      const { status, body } = await refund(id, { reference: 'r-1' })
      assert.equal(status, 400)
      assert.equal(body.code, 'PROVIDER_REJECTED_REQUEST')
    })

    test('gets the same key after it limited the rate of refunds, and another after a refusal', async (t) => {
      const { provider, paid, refund } = await start(t)
      const id = await paid()
      const keys: string[] = []
      const answers = [
        { status: 429, body: {} },
        { status: 400, body: REFUSED },
        { body: { id: 're_1', status: 'succeeded' } },
      ]
      provider.replies['POST /v1/refunds'] = (_query, key) => {
        keys.push(key)
        return answers[keys.length - 1] ?? { status: 500, body: {} }
      }

      const statuses: number[] = []
      for (const _ of answers)
        statuses.push((await refund(id, { reference: 'r-1', amount: 400 })).status)

      assert.deepEqual(statuses, [429, 400, 201])
      assert.equal(keys[1], keys[0])
      assert.notEqual(keys[2], keys[1])
    })

    test('is not asked again about a refund that it has refused', async (t) => {
      const { api, provider, paid, refund } = await start(t)
      const id = await paid()
      provider.replies['POST /v1/refunds'] = { status: 400, body: REFUSED }

      await refund(id, { reference: 'r-1', amount: 400 })

      const { body } = await api.get(`/api/payments/${id}/timeline`)
      assert.deepEqual([body.refundableAmount, body.nextCheckAt], [1000, null])
    })

    test('may fail at first and then make the refund, without offering a list of refunds', async (t) => {
      const { provider, payment, paid, refund } = await start(t)
      const id = await paid()
      Object.assign(provider.replies, { 'POST /v1/refunds': { status: 500, body: {} } })
      assert.equal((await refund(id, { reference: 'r-1' })).status, 502)
      assert.equal((await refund(id, { reference: 'r-1' })).status, 502)
      Object.assign(provider.replies, REPLIES())
      assert.equal((await refund(id, { reference: 'r-1' })).status, 201)
      assert.equal((await payment(id)).status, 'REFUNDED')
    })

    test('may fail a checkout twice, without offering a list of sessions', async (t) => {
      const { api, provider } = await start(t)
      Object.assign(provider.replies, { 'POST /v1/checkout/sessions': { status: 500, body: {} } })
      const request = checkoutBody()
      assert.equal((await api.post('/api/checkout/sessions', request)).status, 502)
      assert.equal((await api.post('/api/checkout/sessions', request)).status, 502)
      Object.assign(provider.replies, REPLIES())
      assert.equal((await api.post('/api/checkout/sessions', request)).status, 201)
    })

    test('may leave out the payment intent in an event of a known refund', async (t) => {
      const { deliver, payment, paid, refund } = await start(t)
      const id = await paid()
      await refund(id, { amount: 400, reference: 'r-1' })
      await deliver(eventOf('refund.failed', { id: 're_1', status: 'failed', amount: 400 }))
      const { status, refundedAmount } = await payment(id)
      assert.deepEqual([status, refundedAmount], ['PAID', 0])
    })

    test('may report the second session paid before the first: the first still settles', async (t) => {
      const { api, deliver, payment, provider } = await start(t)
      const request = checkoutBody()
      const { body } = await api.post('/api/checkout/sessions', request)
      await deliver(eventOf('checkout.session.expired', { id: 'cs_1' }))
      provider.replies['POST /v1/checkout/sessions'] = { body: { id: 'cs_2', url: 'https://p' } }
      await api.post('/api/checkout/sessions', { ...request, attemptReference: 'attempt-2' })

      for (const name of ['2', '1']) {
        const session = { id: `cs_${name}`, payment_status: 'paid', payment_intent: `pi_${name}` }
        await deliver(eventOf('checkout.session.completed', session))
      }

      const shown = await payment(body.paymentId)
      assert.equal(shown.status, 'PAID')
      assert.equal(shown.providerCheckoutSessionId, 'cs_1')
      assert.equal(shown.providerPaymentIntentId, 'pi_1')
      assert.equal(shown.checkoutAttemptReference, 'attempt-1')
    })

    test('that refuses the second attempt leaves the payment as it was', async (t) => {
      const { api, deliver, payment, provider } = await start(t)
      const request = checkoutBody()
      const { body } = await api.post('/api/checkout/sessions', request)
      await deliver(eventOf('checkout.session.expired', { id: 'cs_1' }))
      const { updatedAt: _, ...before } = await payment(body.paymentId)
      assert.equal(before.checkoutStatus, 'EXPIRED')
      Object.assign(provider.replies, {
        'POST /v1/checkout/sessions': { status: 400, body: REFUSED },
      })
      const second = { ...request, attemptReference: 'attempt-2' }
      assert.equal((await api.post('/api/checkout/sessions', second)).status, 400)
      const { updatedAt: __, ...after } = await payment(body.paymentId)
      assert.deepEqual(after, before)
    })
  })
