import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inTransaction, openDatabase } from '@plinth/kit/database'
import { migrations } from '../src/payment/database/migrations/index.ts'
import { updateNextCheck } from '../src/payment/database/payments.repository.ts'
import type { PaymentTables } from '../src/payment/database/tables.ts'
import { shared } from './shared.ts'
import { startLoop } from './start-loop.ts'
import { engines, LIVE, startPayments } from './start-payments.ts'

const UNKNOWN = '5b4f5a0e-6a53-4f62-93f6-0a1f6e0b7a11'

for (const engine of engines)
  describe(`GET /api/payments/{id} on ${engine.name}`, engine.options, () => {
    const loop = shared(async (scope) =>
      startLoop(scope, { databaseUrl: await engine.freshUrl(scope) }),
    )

    test('does not call the provider', async () => {
      const { checkOut, payment, sandbox } = loop()
      const { body } = await checkOut()
      await sandbox.fault({ kind: 'outage' })
      const before = (await sandbox.requests()).length

      const shown = await payment(body.paymentId)

      const after = (await sandbox.requests()).length
      await sandbox.clearFaults()
      assert.equal(shown.id, body.paymentId)
      assert.equal(after, before)
    })

    test('shows the customer of the attempt that it shows', async () => {
      const { api, checkOut, payment, sandbox } = loop()
      const [one, two] = [
        (await api.post('/api/customers', { email: 'one@localhost' })).body.id,
        (await api.post('/api/customers', { email: 'two@localhost' })).body.id,
      ]
      const attempt = async (attemptReference: string, providerCustomerId: string | null) => {
        const request = { businessReference: 'customers', attemptReference, providerCustomerId }
        const { body } = await checkOut(request)
        return { ...body, customer: (await payment(body.paymentId)).providerCustomerId }
      }
      const first = await attempt('one', one)
      await sandbox.expire(first.checkoutSessionId)
      const guest = await attempt('guest', null)
      await sandbox.expire(guest.checkoutSessionId)
      const last = await attempt('two', two)
      await sandbox.pay(last.checkoutSessionId)
      await sandbox.flush()

      const shown = await payment(first.paymentId)

      assert.deepEqual([first.customer, guest.customer, last.customer], [one, null, two])
      assert.deepEqual([shown.status, shown.providerCustomerId], ['PAID', two])
      assert.equal(shown.providerCheckoutSessionId, last.checkoutSessionId)
    })

    test('accepts a UUID in capital letters', async () => {
      const { api, checkOut } = loop()
      const { body } = await checkOut()

      assert.equal((await api.get(`/api/payments/${body.paymentId.toUpperCase()}`)).status, 200)
    })

    test('is 400 for an invalid UUID and 404 for an unknown one', async () => {
      const { api } = loop()

      const invalid = await api.get('/api/payments/1234')
      const unknown = await api.get(`/api/payments/${UNKNOWN}`)

      assert.equal(invalid.status, 400)
      assert.deepEqual(invalid.body.errors, ['id: must be a UUID'])
      assert.equal(unknown.status, 404)
      assert.equal(unknown.body.title, 'Resource not found')
    })
  })

for (const engine of engines)
  describe(`GET /api/payments on ${engine.name}`, engine.options, () => {
    const loop = shared(async (scope) =>
      startLoop(scope, { databaseUrl: await engine.freshUrl(scope) }),
    )

    test('lists payments in pages and finds one by its business reference', async () => {
      const { api, checkOut } = loop()
      for (const businessReference of ['b1', 'b2', 'b3']) await checkOut({ businessReference })

      const page = await api.get('/api/payments?size=2&sort=businessReference,desc')
      const one = await api.get('/api/payments?businessReference=b2')

      assert.equal(page.body.totalElements, 3)
      assert.deepEqual(
        page.body.content.map(
          (payment: { businessReference: string }) => payment.businessReference,
        ),
        ['b3', 'b2'],
      )
      assert.equal(one.body.content.length, 1)
      assert.equal((await api.get('/api/payments?sort=secret')).status, 400)
    })

    test('filters payments by a part of the reference, status, date and amount', async () => {
      const { api, checkOut, paid } = loop()
      await checkOut({ businessReference: 'Order-0777-x', amount: 777 })
      await paid({ businessReference: 'order-0778', amount: 778 })
      type Listed = { businessReference: string; createdAt: string }
      const list = async (query: string): Promise<Listed[]> =>
        (await api.get(`/api/payments?${query}`)).body.content
      const references = async (query: string) =>
        (await list(query)).map(({ businessReference }) => businessReference).sort()

      assert.deepEqual(await references('contains=077'), ['Order-0777-x', 'order-0778'])
      assert.deepEqual(await references('contains=ORDER-0777'), ['Order-0777-x'])
      assert.deepEqual(await references('contains=%25077'), [])
      assert.deepEqual(await references('contains=077&status=PAID'), ['order-0778'])
      assert.deepEqual(await references('contains=077&status=FAILED'), [])
      assert.deepEqual(await references('amountFrom=777&amountTo=777'), ['Order-0777-x'])
      const [{ createdAt } = { createdAt: '' }] = await list('businessReference=order-0778')
      assert.deepEqual(await references(`contains=0778&createdFrom=${createdAt}`), ['order-0778'])
      assert.deepEqual(await references(`contains=0778&createdTo=${createdAt}`), [])
      assert.deepEqual(await references('contains=0778&createdTo=2001-01-01'), [])
      for (const fault of [
        'status=PAYED',
        'status=',
        'createdFrom=yesterday',
        'createdTo=2030-02-30',
        'amountFrom=-1',
        'amountTo=1.5',
        'amountTo=99999999999999999999',
        'contains=%00',
        'contains=a&contains=b',
      ]) {
        const expected = fault === 'status=' ? 200 : 400
        assert.equal((await api.get(`/api/payments?${fault}`)).status, expected, fault)
      }
    })
  })

for (const engine of engines)
  describe(`GET /api/payments/{id}/timeline on ${engine.name}`, engine.options, () => {
    const loop = shared(async (scope) =>
      startLoop(scope, { databaseUrl: await engine.freshUrl(scope) }),
    )

    test('shows every step in order and the reason for the status', async () => {
      const { paid, refund, timeline } = loop()
      const { paymentId } = await paid()
      await refund(paymentId, { reference: 'r', amount: 400 })

      const shown = await timeline(paymentId)

      const steps = shown.observations.map(
        (step: { kind: string; statusAfter: string }) => `${step.kind} → ${step.statusAfter}`,
      )
      assert.deepEqual(steps.slice(0, 2), [
        'checkout requested → PENDING/-',
        'session created → PENDING/OPEN',
      ])
      assert.ok(steps.includes('checkout.session.completed → PAID/COMPLETE'), steps.join('\n'))
      assert.ok(steps.includes('refund created → PARTIALLY_REFUNDED/COMPLETE'), steps.join('\n'))
      assert.match(shown.explanation, /^PARTIALLY_REFUNDED because .* 400 of 1000 eur/)
      assert.equal(shown.refundableAmount, 600)
      assert.deepEqual(shown.anomalies, [])
    })

    test('can be read while another node holds the lock on the payment', {
      timeout: 60_000,
    }, async (t) => {
      const databaseUrl = await engine.freshUrl(t)
      const { checkOut, timeline } = await startLoop(t, { databaseUrl })
      const { body } = await checkOut()
      const other = await openDatabase<PaymentTables>(databaseUrl, migrations)
      t.after(other.close)

      const shown = await inTransaction(other.db, async (db) => {
        await updateNextCheck(db, body.paymentId, { nextCheckAt: null, checks: 0 })
        return timeline(body.paymentId)
      })

      assert.equal(shown.status, 'PENDING')
    })

    test('explains each state of a payment', async () => {
      const { checkOut, timeline, sandbox, clock } = loop()
      const why = async (id: string) => (await timeline(id)).explanation
      const { body } = await checkOut({ businessReference: 'b' })
      assert.match(await why(body.paymentId), /is open/)

      await sandbox.expire(body.checkoutSessionId)
      await sandbox.flush()
      assert.match(await why(body.paymentId), /expired/)

      clock.advance(1)
      const second = await checkOut({ businessReference: 'b', attemptReference: 'two' })
      await sandbox.debit(second.body.checkoutSessionId)
      await sandbox.flush()
      assert.match(await why(body.paymentId), /on its way/)

      await sandbox.fail(second.body.checkoutSessionId)
      await sandbox.flush()
      assert.match(await why(body.paymentId), /FAILED because/)
    })
  })

for (const engine of engines)
  describe(`the operations endpoints on ${engine.name}`, engine.options, () => {
    test('exist with the sandbox, and with a real provider only when enabled', async (t) => {
      const real = { ...LIVE, PAYMENTS_OPERATIONS: undefined }
      const stand = {
        PAYMENTS_OPERATIONS: undefined,
        PROVIDER_SECRET_KEY: 'sk_test_x',
        PROVIDER_API_BASE: 'http://127.0.0.1:1',
      }

      for (const [env, status] of [
        [real, 404],
        [stand, 200],
      ] as const) {
        const { api } = await startPayments(t, { env, databaseUrl: await engine.freshUrl(t) })
        assert.equal((await api.get('/api/payments')).status, status)
        assert.equal((await api.get('/api/webhook-events')).status, status)
        assert.equal((await api.get('/api/webhook-events/evt_1')).status, 404)
      }
    })

    test('refuse a filter that contains NUL or is given twice', async (t) => {
      const { api, paid } = await startLoop(t, { databaseUrl: await engine.freshUrl(t) })
      await paid()

      for (const [query, fault] of [
        ['payments?businessReference=%00', 'businessReference: must not contain NUL'],
        ['webhook-events?status=%00', 'status: must not contain NUL'],
        ['webhook-events?type=a%00b', 'type: must not contain NUL'],
        [
          'payments?businessReference=a&businessReference=b',
          'businessReference: must be given only once',
        ],
        ['webhook-events?status=FAILED&status=', 'status: must be given only once'],
        ['customers?email=a%40b&email=c%40d', 'email: must be given only once'],
      ] as const) {
        const { status, body } = await api.get(`/api/${query}`)
        assert.deepEqual([status, body.errors], [400, [fault]], query)
      }
      assert.equal((await api.post('/api/webhook-events/%00/retry')).status, 404)
    })

    test('show an event as received, with its secrets masked', async (t) => {
      const { api, deliver } = await startPayments(t, { databaseUrl: await engine.freshUrl(t) })
      const object = {
        id: 'pi_1',
        client_secret: 'pi_1_secret_x',
        tax: [{ api_key: 'y' }],
        amount: 5,
      }
      await deliver({ id: 'evt_1', type: 'payment_intent.created', data: { object } })

      const { status, body } = await api.get('/api/webhook-events/evt_1')

      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual(
        [body.id, body.type, body.source],
        ['evt_1', 'payment_intent.created', 'webhook'],
      )
      const shown = { id: 'pi_1', client_secret: '***', tax: [{ api_key: '***' }], amount: 5 }
      assert.deepEqual(body.payload.data.object, shown)
      assert.equal((await api.get('/api/webhook-events/evt_2')).status, 404)
    })

    test('list the inbox and retry an event', async (t) => {
      const { api, deliver, paid } = await startLoop(t, { databaseUrl: await engine.freshUrl(t) })
      const { paymentId } = await paid()
      const refund = { id: 're_1', amount: 5000, currency: 'eur', status: 'succeeded' }
      const { payment_intent } = await intentOf(api, paymentId)
      const event = {
        id: 'evt_x',
        type: 'refund.created',
        data: { object: { ...refund, payment_intent } },
      }
      assert.equal((await deliver(event)).status, 500)

      const inbox = await api.get('/api/webhook-events?status=FAILED')
      const retried = await api.post('/api/webhook-events/evt_x/retry')

      assert.equal(inbox.body.totalElements, 1)
      assert.equal(inbox.body.content[0].error.includes('re_1'), true)
      assert.equal(inbox.body.content[0].paymentId, paymentId)
      assert.equal(inbox.body.content[0].body, undefined)
      assert.equal(retried.status, 500)
      assert.equal((await api.post('/api/webhook-events/evt_unknown/retry')).status, 404)
      const [after] = (await api.get('/api/webhook-events?status=FAILED')).body.content
      assert.equal(after.tries, 2)
    })
  })

for (const engine of engines)
  describe(`the service on ${engine.name}`, engine.options, () => {
    test('has an actuator and a console', async (t) => {
      const { api } = await startPayments(t, { databaseUrl: await engine.freshUrl(t) })

      assert.deepEqual((await api.get('/actuator/info')).body.app.version, '1.0.0')
      assert.equal((await api.get('/actuator/health')).body.status, 'UP')
      assert.equal((await api.get('/api-test')).status, 302)
      assert.equal((await api.get('/api-test/index.html')).status, 200)
      assert.equal((await api.post('/api/configuration', {})).status, 405)
      assert.equal((await api.get('/api/nothing')).status, 404)
    })
  })

async function intentOf(api: Awaited<ReturnType<typeof startLoop>>['api'], paymentId: string) {
  const { body } = await api.get(`/api/payments/${paymentId}`)
  return { payment_intent: body.providerPaymentIntentId }
}
