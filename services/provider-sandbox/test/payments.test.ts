import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type Stripe from 'stripe'
import { orderOf, paidOrder } from './orders.ts'
import { startSandbox } from './start-sandbox.ts'

const expanded = { expand: ['payment_intent.latest_charge'] }
const intentOf = (session: Stripe.Checkout.Session) =>
  session.payment_intent as Stripe.PaymentIntent & { latest_charge: Stripe.Charge }

describe('a card payment', () => {
  test('completes the session and captures the money', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const metadata = { order: '7' }
    const made = await stripe.checkout.sessions.create(
      orderOf(1050, { payment_intent_data: { metadata, description: 'Books' } }),
    )

    await api.post(`/sandbox/api/sessions/${made.id}/pay`)

    const session = await stripe.checkout.sessions.retrieve(made.id, expanded)
    const intent = intentOf(session)
    assert.equal(session.status, 'complete')
    assert.equal(session.payment_status, 'paid')
    assert.equal(session.url, null)
    assert.equal(intent.status, 'succeeded')
    assert.equal(intent.amount_received, 1050)
    assert.equal(intent.description, 'Books')
    assert.deepEqual(intent.metadata, metadata)
    assert.equal(intent.latest_charge.captured, true)
    assert.equal(intent.latest_charge.payment_method_details?.card?.last4, '4242')
  })

  test('shows the card with its expiry date, and null for unknown members', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(orderOf(1000))
    const fields = { number: '4242 4242 4242 4242', expiry: '11 / 42', cvc: '123' }

    await api.request('POST', `/pay/${id}/card`, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    })

    const session = await stripe.checkout.sessions.retrieve(id, expanded)
    const charge = intentOf(session).latest_charge
    const card = charge.payment_method_details?.card
    assert.deepEqual([card?.exp_month, card?.exp_year, card?.last4], [11, 2042, '4242'])
    assert.equal(card?.wallet, null)
    assert.equal(charge.receipt_url, null)
    assert.equal(charge.billing_details.address, null)
    assert.equal(intentOf(session).shipping, null)
    assert.equal(session.customer_details?.tax_ids, null)
  })

  test('that is declined leaves the session open for another try', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(orderOf(1000))

    const declined = await api.post(`/sandbox/api/sessions/${id}/decline`, {
      card: '4000000000009995',
    })
    const open = await stripe.checkout.sessions.retrieve(id, expanded)
    await api.post(`/sandbox/api/sessions/${id}/pay`)
    const paid = await stripe.checkout.sessions.retrieve(id, expanded)

    assert.equal(declined.body.outcome.error.decline_code, 'insufficient_funds')
    assert.equal(open.status, 'open')
    assert.equal(intentOf(open).status, 'requires_payment_method')
    assert.equal(intentOf(open).last_payment_error?.code, 'card_declined')
    assert.equal(intentOf(paid).id, intentOf(open).id)
    assert.equal(intentOf(paid).last_payment_error, null)
  })

  for (const [accepted, status] of [
    [true, 'complete'],
    [false, 'open'],
  ] as const)
    test(`that the bank wants confirmed is ${status} when the answer is ${accepted}`, async (t) => {
      const { stripe, api } = await startSandbox(t)
      const { id } = await stripe.checkout.sessions.create(orderOf(1000))

      const asked = await api.post(`/sandbox/api/sessions/${id}/pay`, { card: '4000002500003155' })
      await api.post(`/sandbox/api/sessions/${id}/challenge`, { accepted })

      const session = await stripe.checkout.sessions.retrieve(id)
      assert.equal(asked.body.outcome.state, 'challenge')
      assert.equal(session.status, status)
    })

  test('of zero needs no payment intent', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(orderOf(0))

    await api.post(`/sandbox/api/sessions/${id}/pay`)

    const session = await stripe.checkout.sessions.retrieve(id)
    assert.equal(session.payment_status, 'no_payment_required')
    assert.equal(session.payment_intent, null)
  })

  test('is taken once when two tabs pay at the same moment', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(orderOf(1000))

    const tries = Array.from({ length: 8 }, () => api.post(`/sandbox/api/sessions/${id}/pay`))
    const statuses = (await Promise.all(tries)).map(({ status }) => status)

    assert.deepEqual(statuses.sort(), [200, 400, 400, 400, 400, 400, 400, 400])
    assert.equal((await stripe.charges.list()).data.length, 1)
  })
})

describe('a bank debit', () => {
  test('is complete and unpaid until it settles', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(orderOf(2000))

    await api.post(`/sandbox/api/sessions/${id}/bank-debit`)
    const waiting = await stripe.checkout.sessions.retrieve(id, expanded)
    await api.post('/sandbox/api/clock/advance', { seconds: 30 })
    const settled = await stripe.checkout.sessions.retrieve(id, expanded)

    assert.equal(waiting.status, 'complete')
    assert.equal(waiting.payment_status, 'unpaid')
    assert.equal(intentOf(waiting).status, 'processing')
    assert.equal(settled.payment_status, 'paid')
    assert.equal(intentOf(settled).status, 'succeeded')
  })

  test('that is returned leaves the session complete and unpaid', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(orderOf(2000))

    await api.post(`/sandbox/api/sessions/${id}/bank-debit`, { account: '000111111113' })
    await api.post('/sandbox/api/clock/advance', { seconds: 30 })

    const session = await stripe.checkout.sessions.retrieve(id, expanded)
    assert.equal(session.status, 'complete')
    assert.equal(session.payment_status, 'unpaid')
    assert.equal(intentOf(session).status, 'requires_payment_method')
    assert.equal(intentOf(session).last_payment_error?.code, 'account_closed')
  })

  test('without a delay waits for a decision, which is made once', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(orderOf(2000))

    await api.post(`/sandbox/api/sessions/${id}/bank-debit`, { delaySeconds: null })
    await api.post('/sandbox/api/clock/advance', { seconds: 86_400 })
    const before = await stripe.checkout.sessions.retrieve(id)
    const settled = await api.post(`/sandbox/api/sessions/${id}/settle`)
    const failed = await api.post(`/sandbox/api/sessions/${id}/fail`)

    assert.equal(before.payment_status, 'unpaid')
    assert.equal(settled.body.payment_status, 'paid')
    assert.equal(failed.status, 400)
  })
})

describe('an expired session', () => {
  test('expires on time, and a payment that was started in it is canceled', async (t) => {
    const { stripe, api, clock } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(
      orderOf(1000, { expires_at: clock().getTime() / 1000 + 1800 }),
    )
    await api.post(`/sandbox/api/sessions/${id}/decline`)

    clock.advance(1800)

    const session = await stripe.checkout.sessions.retrieve(id, expanded)
    const late = await api.post(`/sandbox/api/sessions/${id}/pay`)
    assert.equal(session.status, 'expired')
    assert.equal(intentOf(session).status, 'canceled')
    assert.equal(late.status, 400)
  })

  test('is never one that was paid', async (t) => {
    const sandbox = await startSandbox(t)
    const { session } = await paidOrder(sandbox)

    await sandbox.api.post('/sandbox/api/clock/advance', { seconds: 90_000 })

    assert.equal((await sandbox.stripe.checkout.sessions.retrieve(session)).status, 'complete')
    await assert.rejects(sandbox.stripe.checkout.sessions.expire(session), { statusCode: 400 })
  })
})
