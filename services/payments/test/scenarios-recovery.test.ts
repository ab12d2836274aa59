import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { testClock } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { checkoutBody, providerEnv, startLoop, startSandbox } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

const DAY = 24 * 3600
const REFUNDS = 'POST /v1/refunds'
const SESSIONS = 'POST /v1/checkout/sessions'

for (const engine of engines)
  describe(`hard scenarios of recovery on ${engine.name}`, engine.options, () => {
    /** By default the provider may take long: on a busy machine, a call that works takes a second, too. */
    const start = async (
      t: { after(work: () => void): void },
      webhooks = true,
      providerMilliseconds = 60_000,
    ) =>
      startLoop(t, {
        webhooks,
        databaseUrl: await engine.freshUrl(t),
        overrides: { providerMilliseconds },
      })

    test('a refund whose key the provider has forgotten is looked up and never resent', async (t) => {
      const { paid, refund, sandbox, clock, jobs, payment } = await start(t)
      const { paymentId } = await paid()
      await sandbox.switch({ drop: ['*'] })
      await sandbox.fault({ kind: 'reset-after', route: REFUNDS, times: 9 })
      const lost = await refund(paymentId, { reference: 'r', amount: 400 })
      await sandbox.clearFaults()
      clock.advance(25 * 3600)
      await sandbox.forgetKeys()

      await jobs.reconcile.runNow()

      assert.equal(lost.status, 503)
      assert.equal((await payment(paymentId)).refundedAmount, 400)
      assert.equal((await sandbox.refunds()).length, 1)
      const again = await refund(paymentId, { reference: 'r', amount: 400 })
      assert.equal(again.status, 201)
      assert.equal((await sandbox.refunds()).length, 1)
    })

    test('a refund that never happened is withdrawn when its key has been forgotten', async (t) => {
      const { paid, refund, sandbox, clock, jobs, payment } = await start(t)
      const { paymentId } = await paid()
      await sandbox.fault({ kind: 'outage', route: REFUNDS })
      await refund(paymentId, { reference: 'r', amount: 400 })
      const reserved = await refund(paymentId, { reference: 'other', amount: 601 })
      await sandbox.clearFaults()
      clock.advance(25 * 3600)

      await jobs.reconcile.runNow()

      assert.equal(reserved.status, 400)
      assert.equal((await payment(paymentId)).refundedAmount, 0)
      assert.equal((await sandbox.refunds()).length, 0)
      assert.equal((await refund(paymentId, { reference: 'r', amount: 400 })).status, 201)
      assert.equal((await sandbox.refunds()).length, 1)
    })

    test('a checkout whose key the provider has forgotten is found among the sessions', async (t) => {
      const { checkOut, sandbox, clock, jobs, api } = await start(t, false)
      await sandbox.fault({ kind: 'reset-after', route: SESSIONS, times: 9 })
      const lost = await checkOut({ businessReference: 'b' })
      await sandbox.clearFaults()
      const [session] = await sandbox.sessions()
      await sandbox.pay(session.id)
      clock.advance(25 * 3600)
      await sandbox.forgetKeys()

      await jobs.reconcile.runNow()

      assert.equal(lost.status, 503)
      const [shown] = (await api.get('/api/payments?businessReference=b')).body.content
      assert.equal(shown.status, 'PAID')
      assert.equal((await sandbox.sessions()).length, 1)
    })

    test('a refund made after the backup that was restored is not made again', async (t) => {
      const { refund, paid, payments, sandbox, clock } = await start(t)
      const { paymentId } = await paid()
      const first = await refund(paymentId, { amount: 400, reference: 'r1', metadata: { a: 'b' } })
      // What the provider's events tell a restored database: the refund, but not that it was ours.
      await payments.db.deleteFrom('refund_intents').execute()
      clock.advance(26 * 3600)
      await sandbox.forgetKeys()

      const again = await refund(paymentId, { amount: 400, reference: 'r1', metadata: { a: 'b' } })
      const other = await refund(paymentId, { amount: 300, reference: 'r1', metadata: { a: 'b' } })

      assert.deepEqual([again.status, again.body.id], [201, first.body.id])
      assert.deepEqual([other.status, other.body.code], [409, 'REFUND_REFERENCE_REUSED'])
      assert.equal((await sandbox.refunds()).length, 1)
    })

    test('a refund in full made after the backup that was restored is named when it is requested again', async (t) => {
      const { refund, paid, payments } = await start(t)
      const { paymentId } = await paid()
      const request = { reference: 'r1', metadata: { a: 'b' } }
      const first = await refund(paymentId, request)
      await payments.db.deleteFrom('refund_intents').execute()

      const again = await refund(paymentId, request)

      assert.deepEqual([again.status, again.body.code], [409, 'PAYMENT_NOT_REFUNDABLE'])
      assert.equal(again.body.existingRefund.id, first.body.id)
    })

    test('a refund that was made and answered with 500 is found', async (t) => {
      const { paid, refund, sandbox, payment } = await start(t)
      const { paymentId } = await paid()
      await sandbox.switch({ drop: ['*'] })
      await sandbox.fault({ kind: 'error-after', route: REFUNDS })

      const failed = await refund(paymentId, { reference: 'r', amount: 400 })
      const again = await refund(paymentId, { reference: 'r', amount: 400 })

      assert.equal(failed.status, 502)
      assert.equal(failed.body.title, 'Provider request failed')
      assert.ok(failed.headers.get('retry-after'))
      assert.equal(again.status, 201)
      assert.equal((await sandbox.refunds()).length, 1)
      assert.equal((await payment(paymentId)).refundedAmount, 400)
    })

    test('a session that was made and answered with 500 is found', async (t) => {
      const { checkOut, sandbox } = await start(t)
      await sandbox.fault({ kind: 'error-after', route: SESSIONS })

      const failed = await checkOut({ businessReference: 'b' })
      const again = await checkOut({ businessReference: 'b' })

      assert.equal(failed.status, 502)
      assert.equal(again.status, 201)
      assert.equal((await sandbox.sessions()).length, 1)
    })

    test('a refund that timed out and is requested again is made once', async (t) => {
      const { paid, refund, sandbox, payment } = await start(t, true, 3_000)
      const { paymentId } = await paid()
      await sandbox.fault({ kind: 'hang', route: REFUNDS })

      const late = await refund(paymentId, { reference: 'r', amount: 400 })
      const again = await refund(paymentId, { reference: 'r', amount: 400 })

      assert.equal(late.status, 503)
      assert.equal(late.body.title, 'Provider is unavailable')
      assert.equal(again.status, 201)
      assert.equal((await sandbox.refunds()).length, 1)
      assert.equal((await payment(paymentId)).refundedAmount, 400)
    })

    test('a session that expired unnoticed is replaced, and its late event changes nothing', async (t) => {
      const { checkOut, sandbox, deliver, payment } = await start(t)
      const { body: first } = await checkOut({ businessReference: 'b', attemptReference: 'one' })
      await sandbox.switch({ drop: ['*'] })
      await sandbox.expire(first.checkoutSessionId)

      const second = await checkOut({ businessReference: 'b', attemptReference: 'two' })
      const events = await sandbox.events()
      const late = events.find(({ type }: { type: string }) => type === 'checkout.session.expired')
      const reply = await deliver(late)

      assert.equal(second.status, 201)
      assert.equal(reply.status, 200)
      const shown = await payment(first.paymentId)
      assert.equal(shown.checkoutStatus, 'OPEN')
      assert.equal(shown.providerCheckoutSessionId, second.body.checkoutSessionId)
    })

    test('a payment made while an overdue session is being replaced counts', async (t) => {
      const sandbox = await startSandbox(t)
      const clock = testClock()
      const env = providerEnv(sandbox)
      const { api } = await startPayments(t, { clock, env, databaseUrl: await engine.freshUrl(t) })
      const request = checkoutBody()
      const { body: first } = await api.post('/api/checkout/sessions', request)
      clock.advance(DAY + 60)
      await sandbox.fault({ kind: 'hold', route: 'GET /v1/checkout/sessions/:id' })

      const replacing = api.post('/api/checkout/sessions', { ...request, attemptReference: 'two' })
      await sandbox.struck()
      await sandbox.pay(first.checkoutSessionId)
      await sandbox.release()
      const reply = await replacing

      assert.equal(reply.status, 409)
      assert.equal(reply.body.code, 'PAYMENT_ALREADY_SETTLED')
      assert.equal((await sandbox.sessions()).length, 1)
    })

    test('an overdue session is made unpayable before another one is created', async (t) => {
      const sandbox = await startSandbox(t)
      const clock = testClock()
      const env = providerEnv(sandbox)
      const { api } = await startPayments(t, { clock, env, databaseUrl: await engine.freshUrl(t) })
      const request = checkoutBody()
      await api.post('/api/checkout/sessions', request)
      clock.advance(DAY + 60)

      const reply = await api.post('/api/checkout/sessions', { ...request, attemptReference: '2' })

      assert.equal(reply.status, 201)
      const counts = await sandbox.sessionsBy('businessReference')
      const { open, expired } = counts[request.businessReference]
      assert.deepEqual({ open, expired }, { open: 1, expired: 1 })
    })

    test('a lost async_payment_failed is noticed by the next create', async (t) => {
      const { checkOut, sandbox, payment } = await start(t, false)
      const { body } = await checkOut({ businessReference: 'b', attemptReference: 'one' })
      await sandbox.debit(body.checkoutSessionId)
      const processing = await checkOut({ businessReference: 'b', attemptReference: 'two' })
      await sandbox.fail(body.checkoutSessionId)

      const again = await checkOut({ businessReference: 'b', attemptReference: 'two' })

      assert.equal(processing.status, 409)
      assert.equal(again.status, 201)
      assert.equal((await payment(body.paymentId)).checkoutStatus, 'OPEN')
    })

    test('a completed webhook that never comes is made up for by reconciling the payment', async (t) => {
      const { checkOut, sandbox, payment, clock, jobs } = await start(t, false)
      const { body } = await checkOut()
      await sandbox.pay(body.checkoutSessionId)
      clock.advance(4 * DAY)

      await jobs.reconcile.runNow()

      assert.equal((await payment(body.paymentId)).status, 'PAID')
    })

    test('an open payment is reconciled less and less often, a new attempt starts over', async (t) => {
      const { checkOut, sandbox, deliver, timeline, clock, jobs } = await startLoop(t, {
        webhooks: false,
        databaseUrl: await engine.freshUrl(t),
        overrides: { providerRetries: 0 },
      })
      const { body } = await checkOut({ businessReference: 'b', attemptReference: 'one' })
      /** Moves the clock to the next check and runs it. Returns how many minutes that took. */
      const nextCheck = async () => {
        const { nextCheckAt } = await timeline(body.paymentId)
        const seconds = (Date.parse(nextCheckAt) - clock().getTime()) / 1000
        clock.advance(seconds)
        await until(() => jobs.reconcile.runNow(), Boolean, 5)
        return seconds / 60
      }
      const first: number[] = []
      while (first.length < 7) first.push(await nextCheck())
      await sandbox.expire(body.checkoutSessionId)
      const [expired] = await sandbox.events()
      await deliver(expired)
      await sandbox.fault({ kind: 'outage', route: SESSIONS })
      const lost = await checkOut({ businessReference: 'b', attemptReference: 'two' })

      const second = [await nextCheck(), await nextCheck(), await nextCheck()]

      assert.deepEqual(first, [1, 5, 15, 60, 180, 360, 360])
      assert.deepEqual([expired.type, lost.status], ['checkout.session.expired', 503])
      assert.deepEqual(second, [1, 5, 15])
    })

    test('any webhook that never comes is made up for by the list of events', async (t) => {
      const { checkOut, sandbox, payment, clock, jobs, api } = await start(t, false)
      await jobs.poll.runNow()
      const { body } = await checkOut()
      const { session } = await sandbox.pay(body.checkoutSessionId)
      await sandbox.dashboardRefund(session.payment_intent, 400)
      clock.advance(4 * DAY)

      await jobs.poll.runNow()
      await jobs.poll.runNow()

      const shown = await payment(body.paymentId)
      assert.equal(`${shown.status} ${shown.refundedAmount}`, 'PARTIALLY_REFUNDED 400')
      const { content } = (await api.get('/api/webhook-events')).body
      assert.ok(content.every((event: { source: string }) => event.source === 'poll'))
    })

    test('a session that is missing at the provider is 502 and never created again', async (t) => {
      const databaseUrl = await engine.freshUrl(t)
      const first = await startSandbox(t)
      const before = await startPayments(t, { env: providerEnv(first), databaseUrl })
      const request = checkoutBody()
      await before.api.post('/api/checkout/sessions', request)
      const wiped = await startSandbox(t)
      const { api } = await startPayments(t, { env: providerEnv(wiped), databaseUrl })

      const reply = await api.post('/api/checkout/sessions', request)

      assert.equal(reply.status, 502)
      assert.equal(reply.body.code, 'PROVIDER_INCONSISTENT')
      assert.equal((await wiped.sessions()).length, 0)
    })

    test('a first create that is refused for good leaves the reference free', async (t) => {
      const { checkOut, sandbox, api } = await start(t)
      await sandbox.switch({ amountLimits: true })

      const refused = await checkOut({ businessReference: 'b', amount: 1 })
      const none = await api.get('/api/payments?businessReference=b')
      const corrected = await checkOut({ businessReference: 'b', amount: 1000 })

      assert.equal(refused.status, 400)
      assert.equal(none.body.totalElements, 0)
      assert.equal(corrected.status, 201)
    })
  })
