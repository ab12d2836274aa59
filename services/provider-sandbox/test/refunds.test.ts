import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { orderOf, paidOrder } from './orders.ts'
import { startSandbox } from './start-sandbox.ts'

const PENDING_REFUNDS = '4000000000007726'
const FAILING_REFUNDS = '4000000000005126'

describe('a refund', () => {
  test('of the whole remainder needs no amount', async (t) => {
    const sandbox = await startSandbox(t)
    const { intent } = await paidOrder(sandbox)

    const part = await sandbox.stripe.refunds.create({ payment_intent: intent, amount: 400 })
    const rest = await sandbox.stripe.refunds.create({
      payment_intent: intent,
      reason: 'requested_by_customer',
      metadata: { why: 'torn' },
    })

    const charge = await sandbox.stripe.charges.retrieve(String(rest.charge))
    assert.match(part.id, /^re_/)
    assert.equal(rest.amount, 600)
    assert.equal(rest.status, 'succeeded')
    assert.equal(rest.reason, 'requested_by_customer')
    assert.deepEqual(rest.metadata, { why: 'torn' })
    assert.equal(charge.refunded, true)
    assert.equal(charge.amount_refunded, 1000)
  })

  test('is never more than what is left', async (t) => {
    const sandbox = await startSandbox(t)
    const { intent } = await paidOrder(sandbox)
    await sandbox.stripe.refunds.create({ payment_intent: intent, amount: 400 })

    const tooMuch = sandbox.stripe.refunds.create({ payment_intent: intent, amount: 601 })

    await assert.rejects(tooMuch, {
      statusCode: 400,
      param: 'amount',
      message: 'Refund amount ($6.01) is greater than unrefunded amount on charge ($6.00)',
    })
  })

  test('of a fully refunded charge is charge_already_refunded', async (t) => {
    const sandbox = await startSandbox(t)
    const { intent } = await paidOrder(sandbox)
    const { charge } = await sandbox.stripe.refunds.create({ payment_intent: intent })

    await assert.rejects(sandbox.stripe.refunds.create({ charge: String(charge) }), {
      statusCode: 400,
      code: 'charge_already_refunded',
    })
  })

  test('counts pending refunds as refunded', async (t) => {
    const sandbox = await startSandbox(t)
    const { intent } = await paidOrder(sandbox, 1000, PENDING_REFUNDS)

    const tries = Array.from({ length: 2 }, () =>
      sandbox.stripe.refunds.create({ payment_intent: intent, amount: 600 }),
    )
    const results = await Promise.allSettled(tries)

    const outcomes = results.map((result) => result.status).sort()
    assert.deepEqual(outcomes, ['fulfilled', 'rejected'])
  })

  test('that is pending succeeds later', async (t) => {
    const sandbox = await startSandbox(t)
    const { intent } = await paidOrder(sandbox, 1000, PENDING_REFUNDS)

    const made = await sandbox.stripe.refunds.create({ payment_intent: intent })
    await sandbox.api.post('/sandbox/api/clock/advance', { seconds: 30 })
    const later = await sandbox.stripe.refunds.retrieve(made.id)

    assert.equal(made.status, 'pending')
    assert.equal(made.pending_reason, 'processing')
    assert.equal(later.status, 'succeeded')
  })

  test('can fail after it had succeeded, and the money can be refunded again', async (t) => {
    const sandbox = await startSandbox(t)
    const { intent } = await paidOrder(sandbox, 1000, FAILING_REFUNDS)

    const made = await sandbox.stripe.refunds.create({ payment_intent: intent })
    await sandbox.api.post('/sandbox/api/clock/advance', { seconds: 30 })
    const failed = await sandbox.stripe.refunds.retrieve(made.id, { expand: ['charge'] })
    const again = await sandbox.stripe.refunds.create({ payment_intent: intent })

    assert.equal(made.status, 'succeeded')
    assert.equal(failed.status, 'failed')
    assert.equal((failed.charge as { amount_refunded: number }).amount_refunded, 0)
    assert.equal(again.amount, 1000)
  })

  test('that waits for the customer can be canceled through the API, others cannot', async (t) => {
    const sandbox = await startSandbox(t)
    const { intent } = await paidOrder(sandbox)
    await sandbox.api.patch('/sandbox/api/switches', { refunds: 'requires-action' })
    const waiting = await sandbox.stripe.refunds.create({ payment_intent: intent, amount: 300 })
    await sandbox.api.patch('/sandbox/api/switches', { refunds: 'pending' })
    const pending = await sandbox.stripe.refunds.create({ payment_intent: intent, amount: 300 })

    const canceled = await sandbox.stripe.refunds.cancel(waiting.id)
    const byControls = await sandbox.api.post(`/sandbox/api/refunds/${pending.id}/cancel`)

    assert.equal(canceled.status, 'canceled')
    await assert.rejects(sandbox.stripe.refunds.cancel(pending.id), { statusCode: 400 })
    assert.equal(byControls.body.status, 'canceled')
  })

  test('of a payment that has not succeeded is refused', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(orderOf(1000))
    const { body } = await api.post(`/sandbox/api/sessions/${id}/bank-debit`)

    const early = stripe.refunds.create({ payment_intent: body.session.payment_intent })

    await assert.rejects(early, { statusCode: 400, type: 'StripeInvalidRequestError' })
  })

  test('is found by its payment intent, and its metadata can be changed', async (t) => {
    const sandbox = await startSandbox(t)
    const { intent } = await paidOrder(sandbox)
    const other = await paidOrder(sandbox)
    await sandbox.stripe.refunds.create({ payment_intent: other.intent })
    const { id } = await sandbox.stripe.refunds.create({ payment_intent: intent, amount: 1 })

    await sandbox.stripe.refunds.update(id, { metadata: { note: 'x' } })
    const found = await sandbox.stripe.refunds.list({ payment_intent: intent })

    assert.deepEqual(
      found.data.map((refund) => [refund.id, refund.metadata?.note]),
      [[id, 'x']],
    )
  })

  test('is recorded in the books and in the ledger', async (t) => {
    const sandbox = await startSandbox(t)
    const { intent } = await paidOrder(sandbox)
    await sandbox.stripe.refunds.create({ payment_intent: intent, amount: 250 })

    const { body: books } = await sandbox.api.get('/sandbox/api/books')
    const balance = await sandbox.stripe.balance.retrieve()
    const entries = await sandbox.stripe.balanceTransactions.list()

    assert.deepEqual(books.totals, {
      usd: { captured: 1000, refunded: 250, pending: 0, kept: 750 },
    })
    assert.deepEqual(books.ledger, { usd: 750 })
    assert.deepEqual({ ...balance.available[0] }, { amount: 750, currency: 'usd' })
    assert.deepEqual(
      entries.data.map(({ amount }) => amount),
      [-250, 1000],
    )
  })
})
