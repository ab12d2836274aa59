import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { shared } from './shared.ts'
import { startLoop } from './start-loop.ts'
import { engines } from './start-payments.ts'

const UNKNOWN = '5b4f5a0e-6a53-4f62-93f6-0a1f6e0b7a11'

for (const engine of engines)
  describe(`POST /api/payments/{id}/refund on ${engine.name}`, engine.options, () => {
    const start = async (t: { after(work: () => void): void }) =>
      startLoop(t, { databaseUrl: await engine.freshUrl(t) })

    test('refunds the full remaining balance when no amount is given', async (t) => {
      const { paid, refund, payment, sandbox } = await start(t)
      const { paymentId } = await paid({ businessReference: 'b' })

      const reply = await refund(paymentId, { reference: 'r1', reason: 'REQUESTED_BY_CUSTOMER' })

      assert.equal(reply.status, 201)
      const shown = await payment(paymentId)
      assert.deepEqual(reply.body, {
        id: reply.body.id,
        paymentId,
        paymentIntentId: shown.providerPaymentIntentId,
        amount: 1000,
        currency: 'eur',
        status: 'succeeded',
        reason: 'requested_by_customer',
        metadata: { businessReference: 'b', refundReference: 'r1' },
      })
      assert.equal(shown.status, 'REFUNDED')
      assert.equal(shown.refundedAmount, 1000)
      assert.equal((await sandbox.books()).totals.eur.refunded, 1000)
    })

    test('refunds one part, then another, then the rest', async (t) => {
      const { paid, refund, payment, counted } = await start(t)
      const { paymentId } = await paid()

      await refund(paymentId, { reference: 'r1', amount: 300 })
      const afterFirst = await payment(paymentId)
      await refund(paymentId, { reference: 'r2', amount: 200 })
      const rest = await refund(paymentId, { reference: 'r3' })

      assert.equal(`${afterFirst.status} ${afterFirst.refundedAmount}`, 'PARTIALLY_REFUNDED 300')
      assert.equal(rest.body.amount, 500)
      assert.equal((await payment(paymentId)).status, 'REFUNDED')
      assert.deepEqual(await counted(), {
        PENDING: 1,
        PAID: 1,
        FAILED: 0,
        PARTIALLY_REFUNDED: 1,
        REFUNDED: 1,
      })
    })

    test('is 400 for an amount above the unrefunded balance', async (t) => {
      const { paid, refund, sandbox } = await start(t)
      const { paymentId } = await paid()
      await refund(paymentId, { reference: 'r1', amount: 600 })

      const reply = await refund(paymentId, { reference: 'r2', amount: 401 })

      assert.equal(reply.status, 400)
      assert.equal(reply.body.title, 'Invalid request')
      assert.equal(reply.body.refundableAmount, 400)
      assert.equal((await sandbox.refunds()).length, 1)
    })

    test('is 409 when the payment status is not PAID or PARTIALLY_REFUNDED', async (t) => {
      const { checkOut, paid, refund, sandbox } = await start(t)
      const { body: pending } = await checkOut()
      const { body: failed } = await checkOut()
      await sandbox.debit(failed.checkoutSessionId)
      await sandbox.fail(failed.checkoutSessionId)
      const refunded = await paid()
      await refund(refunded.paymentId, { reference: 'all' })

      for (const { paymentId } of [pending, failed, refunded]) {
        const reply = await refund(paymentId, { reference: 'r' })
        assert.equal(reply.status, 409)
        assert.equal(reply.body.title, 'Request conflict')
      }
    })

    test('is 409 when the payment has no payment intent', async (t) => {
      const { checkOut, refund, sandbox, payment } = await start(t)
      const { body } = await checkOut()
      const [session] = await sandbox.sessions()
      const free = { ...session, status: 'complete', payment_status: 'no_payment_required' }
      await sandbox.forge({ type: 'checkout.session.completed', object: free })
      await sandbox.flush()

      const reply = await refund(body.paymentId, { reference: 'r' })

      assert.equal((await payment(body.paymentId)).status, 'PAID')
      assert.equal(reply.status, 409)
      assert.equal(reply.body.code, 'PAYMENT_INTENT_MISSING')
    })

    test('gives the same refund for the same reference and content', async (t) => {
      const { paid, refund, sandbox } = await start(t)
      const { paymentId } = await paid()
      const request = { reference: 'r', amount: 300, metadata: { a: '1', b: '2' } }

      const first = await refund(paymentId, request)
      const second = await refund(paymentId, { ...request, metadata: { b: '2', a: '1' } })

      assert.equal(second.status, 201)
      assert.deepEqual(second.body, first.body)
      assert.equal((await sandbox.refunds()).length, 1)
    })

    test('leaves out metadata without a value, which the provider does not store', async (t) => {
      const { paid, refund, payments } = await start(t)
      const { paymentId } = await paid({ businessReference: 'b' })
      const request = { reference: 'r', amount: 300, metadata: { kept: '1', blank: '' } }

      const first = await refund(paymentId, request)
      const second = await refund(paymentId, request)
      // As after a restore of an older backup, when only the provider knows the refund.
      await payments.db.deleteFrom('refund_intents').execute()
      const third = await refund(paymentId, request)

      const metadata = { kept: '1', businessReference: 'b', refundReference: 'r' }
      assert.deepEqual(first.body.metadata, metadata)
      assert.deepEqual(second.body, first.body)
      assert.deepEqual(third.body, first.body)
    })

    test('recognises a request that an earlier version received, even with such metadata', async (t) => {
      const { paid, refund, payments } = await start(t)
      const { paymentId } = await paid()
      const request = { reference: 'r', amount: 300, metadata: { kept: '1', blank: '' } }
      const first = await refund(paymentId, request)
      const received = JSON.stringify([300, null, Object.entries(request.metadata).sort()])
      const content_hash = createHash('sha256').update(received).digest('base64url')
      await payments.db.updateTable('refund_intents').set({ content_hash }).execute()

      const second = await refund(paymentId, request)

      assert.deepEqual(second.body, first.body)
    })

    test('is 409 for the same reference with other content', async (t) => {
      const { paid, refund } = await start(t)
      const { paymentId } = await paid()
      await refund(paymentId, { reference: 'r', amount: 300 })

      for (const other of [{ amount: 301 }, {}, { amount: 300, reason: 'DUPLICATE' }]) {
        const reply = await refund(paymentId, { reference: 'r', ...other })
        assert.equal(reply.status, 409)
        assert.equal(reply.body.code, 'REFUND_REFERENCE_REUSED')
      }
    })

    test('names the existing refund when a fully refunded payment is asked again', async (t) => {
      const { paid, refund } = await start(t)
      const { paymentId } = await paid()
      const first = await refund(paymentId, { reference: 'r' })

      const again = await refund(paymentId, { reference: 'r' })

      assert.equal(again.status, 409)
      assert.deepEqual(again.body.existingRefund, {
        id: first.body.id,
        status: 'succeeded',
        amount: 1000,
      })
    })

    test('reserves a refund that is pending', async (t) => {
      const { paid, refund, payment, sandbox } = await start(t)
      const { paymentId } = await paid()
      await sandbox.switch({ refunds: 'pending' })

      const pending = await refund(paymentId, { reference: 'r1', amount: 700 })
      const beyond = await refund(paymentId, { reference: 'r2', amount: 301 })
      const within = await refund(paymentId, { reference: 'r3', amount: 300 })

      assert.equal(pending.body.status, 'pending')
      assert.equal((await payment(paymentId)).refundedAmount, 0)
      assert.equal(beyond.status, 400)
      assert.equal(within.status, 201)
    })

    test('is 404 for an unknown payment and 400 for an invalid UUID', async (t) => {
      const { refund } = await start(t)

      assert.equal((await refund(UNKNOWN, { reference: 'r' })).status, 404)
      assert.equal((await refund('42', { reference: 'r' })).status, 400)
    })

    test('keeps references apart whatever characters they contain', async (t) => {
      const { paid, refund, sandbox } = await start(t)
      const { paymentId } = await paid()

      for (const reference of ['r', ' r', 'r\n', '💸', 'ré', 're'])
        assert.equal((await refund(paymentId, { reference, amount: 10 })).status, 201)
      assert.equal((await sandbox.refunds()).length, 6)
    })
  })

for (const engine of engines)
  describe(`the refund request on ${engine.name}`, engine.options, () => {
    const loop = shared(async (scope) =>
      startLoop(scope, { databaseUrl: await engine.freshUrl(scope) }),
    )

    test('is 400 beyond any limit', async () => {
      const { paid, refund } = loop()
      const { paymentId } = await paid()
      const entries = Array.from({ length: 49 }, (_, index) => [`k${index}`, 'v'])
      const refused: object[] = [
        {},
        { reference: ' ' },
        { reference: 'r'.repeat(101) },
        { reference: 'r\ud800' },
        { reference: 'r', metadata: { k: '\ud800' } },
        { reference: 'r', amount: 0 },
        { reference: 'r', amount: -5 },
        { reference: 'r', amount: 1.5 },
        { reference: 'r', amount: '5' },
        { reference: 'r', reason: 'BECAUSE' },
        { reference: 'r', reason: 'duplicate' },
        { reference: 'r', metadata: Object.fromEntries(entries) },
        { reference: 'r', metadata: { k: 'v'.repeat(501) } },
      ]

      for (const body of refused)
        assert.equal((await refund(paymentId, body)).status, 400, JSON.stringify(body))
    })

    test('may have 48 metadata entries, any reason, and null for absent fields', async () => {
      const { paid, refund } = loop()
      const { paymentId } = await paid()
      const entries = Array.from({ length: 48 }, (_, index) => [`k${index}`, 'v'])
      const full = { reference: 'a'.repeat(100), amount: 1, metadata: Object.fromEntries(entries) }

      assert.equal((await refund(paymentId, full)).status, 201)
      for (const reason of ['DUPLICATE', 'FRAUDULENT', 'REQUESTED_BY_CUSTOMER', null, ' ']) {
        const reply = await refund(paymentId, { reference: `for ${reason}`, amount: 1, reason })
        assert.equal(reply.status, 201, JSON.stringify(reply.body))
        assert.equal(reply.body.reason, reason?.trim() ? reason.toLowerCase() : null)
      }
      const rest = { reference: 'rest', amount: null, metadata: null }
      assert.equal((await refund(paymentId, rest)).body.amount, 994)
    })
  })

for (const engine of engines)
  describe(`GET /api/refunds/{id} on ${engine.name}`, engine.options, () => {
    const start = async (t: { after(work: () => void): void }) =>
      startLoop(t, { databaseUrl: await engine.freshUrl(t) })

    test('shows the current state at the provider, with the payment it belongs to', async (t) => {
      const { api, paid, refund, sandbox, payment } = await start(t)
      const { paymentId } = await paid()
      await sandbox.switch({ refunds: 'pending', drop: ['*'] })
      const { body } = await refund(paymentId, { reference: 'r', amount: 400 })
      await sandbox.succeedRefund(body.id)

      const reply = await api.get(`/api/refunds/${body.id}`)

      assert.equal(reply.status, 200)
      assert.deepEqual(reply.body, { ...body, status: 'succeeded' })
      assert.equal((await payment(paymentId)).refundedAmount, 400)
    })

    test('names no payment while no local record ties the refund to one', async (t) => {
      const { api, jobs, paid, payment, sandbox } = await start(t)
      const { paymentId } = await paid()
      const { providerPaymentIntentId } = await payment(paymentId)
      await sandbox.switch({ drop: ['*'] })
      // On a busy machine the reconciliation that the payment caused would find the refund, too.
      await jobs.stop()
      const made = await sandbox.dashboardRefund(providerPaymentIntentId, 100)

      const reply = await api.get(`/api/refunds/${made.body.id}`)

      assert.equal(reply.status, 200)
      assert.equal(reply.body.paymentId, null)
      assert.equal(reply.body.amount, 100)
      assert.deepEqual(reply.body.metadata, {})
    })

    test('is 404 for an unknown id and 400 for an invalid one', async (t) => {
      const { api } = await start(t)

      const unknown = await api.get('/api/refunds/re_unknown')

      assert.equal(unknown.status, 404)
      assert.equal(unknown.body.title, 'Provider resource not found')
      assert.equal((await api.get(`/api/refunds/${'r'.repeat(256)}`)).status, 400)
      assert.equal((await api.get('/api/refunds/%20')).status, 400)
    })
  })
