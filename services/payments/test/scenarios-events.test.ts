import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { armFailPoint } from '@plinth/kit/runtime'
import { receiveEvent } from '../src/webhooks/receive.ts'
import { shared } from './shared.ts'
import { startLoop } from './start-loop.ts'
import { engines } from './start-payments.ts'

type Scope = { after(work: () => void): void }
type Event = { id: string; type: string; data: { object: Record<string, unknown> } }

for (const engine of engines)
  describe(`hard scenarios of events on ${engine.name}`, engine.options, () => {
    const start = async (t: Scope) => {
      const loop = await startLoop(t, { databaseUrl: await engine.freshUrl(t) })
      const { sandbox, payment, deliver } = loop
      /** From here on the test itself delivers the provider's events, in any order. */
      const intercept = async () => {
        await sandbox.flush()
        await sandbox.switch({ drop: ['*'] })
        const before = new Set((await sandbox.events()).map(({ id }: Event) => id))
        return async (type: string, nth = 0): Promise<Event> => {
          const events: Event[] = await sandbox.events()
          const fresh = events.filter((event) => !before.has(event.id) && event.type === type)
          return fresh.reverse()[nth] as Event
        }
      }
      const status = async (id: string) => {
        const shown = await payment(id)
        return `${shown.status}/${shown.checkoutStatus} ${shown.refundedAmount}`
      }
      const accepted = async (event: Event) => {
        const reply = await deliver(event)
        assert.equal(reply.status, 200, JSON.stringify(reply.body))
        return reply.body
      }
      const anomalies = async (id: string) => (await loop.timeline(id)).anomalies
      return { ...loop, intercept, status, accepted, anomalies }
    }

    test('the same event delivered fifty times at once has one effect', async (t) => {
      const { checkOut, sandbox, intercept, deliver, status, timeline } = await start(t)
      const { body } = await checkOut()
      const eventOf = await intercept()
      await sandbox.pay(body.checkoutSessionId)
      const event = await eventOf('checkout.session.completed')

      const replies = await Promise.all(Array.from({ length: 50 }, () => deliver(event)))

      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
      assert.deepEqual(new Set(replies.map((reply) => reply.body.status)), new Set(['PROCESSED']))
      assert.equal(replies.filter((reply) => !reply.body.duplicate).length, 1)
      assert.equal(await status(body.paymentId), 'PAID/COMPLETE 0')
      const { observations } = await timeline(body.paymentId)
      const seen = observations.filter(({ eventId }: { eventId: string }) => eventId === event.id)
      assert.equal(seen.length, 1)
    })

    test('a customer that only a later event names is kept', async (t) => {
      const { checkOut, sandbox, intercept, accepted, payment } = await start(t)
      const { body } = await checkOut()
      const eventOf = await intercept()
      await sandbox.pay(body.checkoutSessionId)
      const { data, ...event } = await eventOf('checkout.session.completed')
      const named = (id: string, customer: string | null) =>
        accepted({ ...event, id, data: { object: { ...data.object, customer } } })

      await named('evt_without', null)
      const before = await payment(body.paymentId)
      await named('evt_with', 'cus_learnt')

      assert.equal(before.status, 'PAID')
      assert.equal(before.providerCustomerId, null)
      assert.equal((await payment(body.paymentId)).providerCustomerId, 'cus_learnt')
    })

    test('async_payment_succeeded before completed(unpaid) is PAID and stays PAID', async (t) => {
      const { checkOut, sandbox, intercept, accepted, status } = await start(t)
      const { body } = await checkOut()
      const eventOf = await intercept()
      await sandbox.debit(body.checkoutSessionId)
      await sandbox.settle(body.checkoutSessionId)

      await accepted(await eventOf('checkout.session.async_payment_succeeded'))
      const between = await status(body.paymentId)
      await accepted(await eventOf('checkout.session.completed'))

      assert.equal(between, 'PAID/COMPLETE 0')
      assert.equal(await status(body.paymentId), 'PAID/COMPLETE 0')
    })

    test('refund.created before checkout.session.completed is kept and counted', async (t) => {
      const { api, checkOut, sandbox, intercept, accepted, status } = await start(t)
      const { body } = await checkOut()
      const eventOf = await intercept()
      const { session } = await sandbox.pay(body.checkoutSessionId)
      const made = await sandbox.dashboardRefund(session.payment_intent, 1000)

      const parked = await accepted(await eventOf('refund.created'))
      const between = await status(body.paymentId)
      await accepted(await eventOf('checkout.session.completed'))

      assert.equal(parked.status, 'PROCESSED')
      assert.equal(between, 'PENDING/OPEN 0')
      assert.equal(await status(body.paymentId), 'REFUNDED/COMPLETE 1000')
      const refund = await api.get(`/api/refunds/${made.body.id}`)
      assert.equal(refund.body.paymentId, body.paymentId)
    })

    test('refund.updated(pending) after succeeded changes nothing', async (t) => {
      const { paid, refund, sandbox, intercept, accepted, status } = await start(t)
      const { paymentId } = await paid()
      await sandbox.switch({ refunds: 'pending' })
      const eventOf = await intercept()
      const { body } = await refund(paymentId, { reference: 'r', amount: 400 })
      await sandbox.succeedRefund(body.id)

      await accepted(await eventOf('refund.updated'))
      const between = await status(paymentId)
      await accepted(await eventOf('refund.created'))

      assert.equal(between, 'PARTIALLY_REFUNDED/COMPLETE 400')
      assert.equal(await status(paymentId), between)
    })

    test('a refund that succeeds and then fails makes the payment PAID again', async (t) => {
      const { paid, refund, sandbox, status } = await start(t)
      const { paymentId } = await paid()
      const { body } = await refund(paymentId, { reference: 'r1' })
      const between = await status(paymentId)

      await sandbox.failRefund(body.id)
      await sandbox.flush()

      assert.equal(between, 'REFUNDED/COMPLETE 1000')
      assert.equal(await status(paymentId), 'PAID/COMPLETE 0')
      assert.equal((await refund(paymentId, { reference: 'r2' })).status, 201)
      assert.equal(await status(paymentId), 'REFUNDED/COMPLETE 1000')
    })

    test('a canceled refund does not count, like a failed one', async (t) => {
      const { paid, refund, sandbox, status } = await start(t)
      const { paymentId } = await paid()
      await sandbox.switch({ refunds: 'requires-action' })
      const { body } = await refund(paymentId, { reference: 'r1' })
      const reserved = await refund(paymentId, { reference: 'r2', amount: 1 })

      await sandbox.cancelRefund(body.id)
      await sandbox.flush()

      assert.equal(body.status, 'requires_action')
      assert.equal(reserved.status, 400)
      assert.equal(await status(paymentId), 'PAID/COMPLETE 0')
      assert.equal((await refund(paymentId, { reference: 'r3' })).status, 201)
    })

    test('events of the same second give the same result in both orders', async (t) => {
      const { checkOut, sandbox, intercept, accepted, status } = await start(t)
      await sandbox.switch({ eventSecond: 1_893_456_000 })
      const results: string[] = []
      for (const reversed of [false, true]) {
        await sandbox.switch({ drop: [] })
        const { body } = await checkOut()
        const eventOf = await intercept()
        await sandbox.debit(body.checkoutSessionId)
        await sandbox.fail(body.checkoutSessionId)
        const events = [
          await eventOf('checkout.session.completed'),
          await eventOf('checkout.session.async_payment_failed'),
        ]
        for (const event of reversed ? events.reverse() : events) await accepted(event)
        results.push(await status(body.paymentId))
      }

      assert.deepEqual(results, ['FAILED/COMPLETE 0', 'FAILED/COMPLETE 0'])
    })

    test('a webhook that beats the reply to our own create call is not undone', async (t) => {
      const { checkOut, sandbox, api } = await start(t)
      await sandbox.fault({ kind: 'hold', route: 'POST /v1/checkout/sessions' })
      const creating = checkOut({ businessReference: 'b' })
      await sandbox.struck()
      const [session] = await sandbox.sessions()
      await sandbox.pay(session.id)
      await sandbox.flush()
      const during = (await api.get('/api/payments?businessReference=b')).body.content[0]

      await sandbox.release()
      const reply = await creating

      assert.equal(during.status, 'PAID')
      assert.equal(during.providerCheckoutSessionId, session.id)
      assert.equal(reply.status, 409)
      assert.equal(reply.body.code, 'PAYMENT_ALREADY_SETTLED')
      const after = (await api.get('/api/payments?businessReference=b')).body.content[0]
      assert.equal(after.status, 'PAID')
      assert.equal((await sandbox.sessions()).length, 1)
    })

    test('two paid sessions are one payment and an anomaly', async (t) => {
      const { paid, sandbox, status, anomalies, refund, payment } = await start(t)
      const { paymentId } = await paid()
      const [session] = await sandbox.sessions()
      const second = { ...session, id: 'cs_second', payment_intent: 'pi_second' }

      await sandbox.forge({ type: 'checkout.session.completed', object: second })
      await sandbox.flush()

      assert.equal(await status(paymentId), 'PAID/COMPLETE 0')
      assert.deepEqual(await anomalies(paymentId), ['PAID_TWICE'])
      assert.equal((await payment(paymentId)).providerPaymentIntentId, session.payment_intent)
      assert.equal((await refund(paymentId, { reference: 'r' })).status, 201)
    })

    test('an event that can neither be processed nor stored reports the first failure', async (t) => {
      const { payments, jobs, paid, sandbox } = await start(t)
      await paid()
      const [latest] = await sandbox.events()
      const { schema } = payments.db
      await schema.alterTable('attempts').renameTo('attempts_away').execute()
      await schema.alterTable('webhook_events').renameTo('events_away').execute()

      const inbox = { ...payments, wake: jobs.wake }
      const received = receiveEvent(inbox, {
        event: payments.provider.readStored(JSON.stringify(latest)),
        body: JSON.stringify(latest),
        source: 'webhook',
      })

      await assert.rejects(received, (error: Error) => {
        assert.match(String(error.cause), /attempts/)
        assert.doesNotMatch(String(error.cause), /webhook_events/)
        return true
      })
    })

    test('an event that fails is kept, answered with an error and processed later', async (t) => {
      t.after(() => armFailPoint({}))
      const { checkOut, sandbox, intercept, deliver, status, api, clock, jobs } = await start(t)
      const bodies = [(await checkOut()).body, (await checkOut()).body]
      const eventOf = await intercept()
      for (const body of bodies) await sandbox.pay(body.checkoutSessionId)
      const events = [
        await eventOf('checkout.session.completed', 0),
        await eventOf('checkout.session.completed', 1),
      ]

      armFailPoint({ NODE_ENV: 'test', FAIL_POINT: 'webhook:applied=error' })
      const failed = [await deliver(events[0]), await deliver(events[1])]
      armFailPoint({})
      const between = await status(bodies[0].paymentId)
      const inbox = (await api.get('/api/webhook-events?status=FAILED')).body
      const again = await deliver(events[0])
      clock.advance(60)
      await jobs.retry.runNow()

      assert.deepEqual(
        failed.map((reply) => reply.status),
        [500, 500],
      )
      assert.equal(failed[0]?.body.code, 'EVENT_PROCESSING_FAILED')
      assert.equal(between, 'PENDING/OPEN 0')
      assert.equal(inbox.totalElements, 2)
      assert.deepEqual(
        [again.status, again.body.status, again.body.duplicate],
        [200, 'PROCESSED', true],
      )
      assert.equal(await status(bodies[0].paymentId), 'PAID/COMPLETE 0')
      assert.equal(await status(bodies[1].paymentId), 'PAID/COMPLETE 0')
    })

    test('a refund beyond the amount fails, changes nothing and is an anomaly', async (t) => {
      const { paid, payment, deliver, status, timeline, api, counted } = await start(t)
      const { paymentId } = await paid()
      const { providerPaymentIntentId } = await payment(paymentId)
      const event = refundEvent('evt_over', providerPaymentIntentId, 2000)

      const reply = await deliver(event)

      assert.equal(reply.status, 500)
      assert.equal(await status(paymentId), 'PAID/COMPLETE 0')
      const [kept] = (await api.get('/api/webhook-events?status=FAILED')).body.content
      assert.equal(kept.id, 'evt_over')
      // The customer's payment made the service ask the provider, which may come last.
      const { observations } = await timeline(paymentId)
      const seen = observations.map(({ anomaly }: { anomaly: string | null }) => anomaly)
      assert.ok(seen.includes('REFUNDED_BEYOND_AMOUNT'), seen.join())
      const { PAID, REFUNDED } = await counted()
      assert.deepEqual([PAID, REFUNDED], [1, 0])
    })

    test('a refund made in the provider’s dashboard is shown and lowers the balance', async (t) => {
      const { paid, payment, sandbox, refund, status } = await start(t)
      const { paymentId } = await paid()
      const { providerPaymentIntentId } = await payment(paymentId)

      await sandbox.dashboardRefund(providerPaymentIntentId, 700)
      await sandbox.flush()

      assert.equal(await status(paymentId), 'PARTIALLY_REFUNDED/COMPLETE 700')
      assert.equal((await refund(paymentId, { reference: 'r', amount: 301 })).status, 400)
      assert.equal((await refund(paymentId, { reference: 'r', amount: 300 })).status, 201)
    })

    test('a session of another amount or currency is never PAID silently', async (t) => {
      const { checkOut, sandbox, deliver, status, timeline } = await start(t)
      const { body } = await checkOut()
      const [session] = await sandbox.sessions()
      const paid = { ...session, status: 'complete', payment_status: 'paid' }

      for (const wrong of [{ amount_total: 999 }, { currency: 'usd' }]) {
        const object = { ...paid, ...wrong }
        const event = { id: `evt_${JSON.stringify(wrong)}`, data: { object } }
        const reply = await deliver({ ...event, type: 'checkout.session.completed' })
        assert.equal(reply.status, 500)
      }

      assert.equal(await status(body.paymentId), 'PENDING/OPEN 0')
      const { observations } = await timeline(body.paymentId)
      assert.equal(observations.at(-1).anomaly, 'SESSION_DIFFERS')
    })

    test('a live event on a test credential is ignored and recorded as an anomaly', async (t) => {
      const { checkOut, sandbox, status, timeline, api } = await start(t)
      const { body } = await checkOut()
      const [session] = await sandbox.sessions()
      const object = { ...session, status: 'complete', payment_status: 'paid' }

      await sandbox.forge({ type: 'checkout.session.completed', object, livemode: true })
      await sandbox.flush()

      assert.equal(await status(body.paymentId), 'PENDING/OPEN 0')
      const [event] = (await api.get('/api/webhook-events?status=IGNORED')).body.content
      assert.equal(event.type, 'checkout.session.completed')
      const { observations } = await timeline(body.paymentId)
      assert.equal(observations.at(-1).anomaly, 'LIVE_MODE_DIFFERS')
    })

    test('an event of another application on the same account changes nothing', async (t) => {
      const { checkOut, accepted, status, api } = await start(t)
      const { body } = await checkOut()
      const object = { id: 'cs_other', status: 'complete', payment_status: 'paid', metadata: {} }

      const reply = await accepted({
        id: 'evt_other',
        type: 'checkout.session.completed',
        data: { object },
      })

      assert.deepEqual(reply, {
        eventId: 'evt_other',
        eventType: 'checkout.session.completed',
        status: 'PROCESSED',
        duplicate: false,
      })
      assert.equal(await status(body.paymentId), 'PENDING/OPEN 0')
      assert.equal((await api.get('/api/payments')).body.totalElements, 1)
    })
  })

for (const engine of engines)
  describe(`the webhook on ${engine.name}`, engine.options, () => {
    const loop = shared(async (scope) =>
      startLoop(scope, { databaseUrl: await engine.freshUrl(scope) }),
    )

    test('ignores a signed event of an unsupported type, also when it is repeated', async () => {
      const { deliver } = loop()
      const event = { id: 'evt_c', type: 'customer.created', data: { object: { id: 'cus_1' } } }

      assert.deepEqual((await deliver(event)).body, {
        eventId: 'evt_c',
        eventType: 'customer.created',
        status: 'IGNORED',
        duplicate: false,
      })
      assert.equal((await deliver(event)).body.duplicate, true)
      assert.equal((await deliver(event)).body.status, 'IGNORED')
    })

    test('is 400 for a supported event whose object cannot be read', async () => {
      const { deliver } = loop()
      const type = 'checkout.session.completed'

      assert.equal((await deliver({ id: 'e1', type, data: { object: {} } })).status, 400)
      assert.equal(
        (await deliver({ id: 'e2', type: 'refund.created', data: { object: { id: 're' } } }))
          .status,
        400,
      )
    })

    test('leaves a payment open when a card is declined', async () => {
      const { checkOut, sandbox, payment, jobs } = loop()
      const { body } = await checkOut()

      await sandbox.decline(body.checkoutSessionId)
      await sandbox.flush()
      await jobs.reconcile.runNow()

      assert.equal((await payment(body.paymentId)).checkoutStatus, 'OPEN')
      assert.equal((await payment(body.paymentId)).status, 'PENDING')
    })
  })

function refundEvent(id: string, paymentIntent: string, amount: number) {
  const object = { id: 're_x', amount, currency: 'eur', status: 'succeeded' }
  const data = { object: { ...object, payment_intent: paymentIntent } }
  return { id, type: 'refund.created', data }
}
