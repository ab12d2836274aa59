import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Delivered, startReceiver } from '@plinth/events/testing'
import { createServiceKey, openServiceKeys } from '@plinth/service-keys'
import { startLoop } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

const PATH = '/api/webhooks/endpoints'

for (const engine of engines)
  describe(`events of payments on ${engine.name}`, engine.options, () => {
    const start = async (
      t: Parameters<typeof startLoop>[0] & { after: (w: () => void) => void },
    ) => {
      const loop = await startLoop(t, { databaseUrl: await engine.freshUrl(t as never) })
      const receiver = await startReceiver(t)
      await loop.api.post(PATH, { url: receiver.url })
      const told = async () => {
        await loop.dispatcher.idle()
        const events = receiver.delivered.map(({ body }: Delivered) => JSON.parse(body))
        return events.sort((one, other) => one.sequence - other.sequence)
      }
      return { ...loop, told }
    }
    const typesOf = (events: { type: string }[]) => events.map(({ type }) => type)

    test('a checkout, its payment and a refund are published once each, in order', async (t) => {
      const { paid, refund, sandbox, told, checkOut } = await start(t)
      const { paymentId } = await paid({ businessReference: 'order-of-events' })
      await checkOut({ businessReference: 'other' })
      await refund(paymentId, { amount: 400, reference: 'r-1' })
      await sandbox.flush()

      const events = await told()

      const own = events.filter(({ subject }) => subject === paymentId)
      assert.deepEqual(typesOf(own), ['payment.created', 'payment.paid'])
      assert.deepEqual(
        own.map(({ sequence }) => sequence),
        [1, 2],
      )
      assert.deepEqual(own[1].data, {
        paymentId,
        businessReference: 'order-of-events',
        status: 'PAID',
        checkoutStatus: 'COMPLETE',
        amount: 1000,
        refundedAmount: 0,
        currency: 'eur',
      })
      const refunds = events.filter(({ type }) => type.startsWith('refund.'))
      assert.deepEqual(typesOf(refunds), ['refund.succeeded'])
      assert.deepEqual(
        [refunds[0].data.paymentId, refunds[0].data.amount, refunds[0].source],
        [paymentId, 400, 'payments'],
      )
    })

    test('a refused debit, an expired checkout and a failed refund are published', async (t) => {
      const { checkOut, sandbox, told, paid, refund } = await start(t)
      const { body: refused } = await checkOut()
      await sandbox.debit(refused.checkoutSessionId)
      await sandbox.fail(refused.checkoutSessionId)
      const { body: expired } = await checkOut()
      await sandbox.expire(expired.checkoutSessionId)
      await sandbox.switch({ refunds: 'pending' })
      const { paymentId } = await paid()
      const { body: failing } = await refund(paymentId, { amount: 10, reference: 'r' })
      await sandbox.failRefund(failing.id)
      await sandbox.flush()

      const events = await told()

      const about = (subject: string) => typesOf(events.filter((one) => one.subject === subject))
      assert.deepEqual(about(refused.paymentId), ['payment.created', 'payment.failed'])
      assert.deepEqual(about(expired.paymentId), ['payment.created', 'payment.expired'])
      assert.deepEqual(about(failing.id), ['refund.failed'])
      assert.equal(events.find(({ subject }) => subject === failing.id).data.status, 'failed')
    })

    test('an attempt that the provider refuses publishes nothing, whatever came before it', async (t) => {
      const { checkOut, sandbox, told } = await start(t)
      const refuse = (businessReference: string) =>
        checkOut({ businessReference, attemptReference: 'two', providerCustomerId: 'cus_unknown' })
      const { body: failed } = await checkOut({ businessReference: 'failed' })
      await sandbox.debit(failed.checkoutSessionId)
      await sandbox.fail(failed.checkoutSessionId)
      const { body: expired } = await checkOut({ businessReference: 'expired' })
      await sandbox.expire(expired.checkoutSessionId)
      await sandbox.flush()

      const refused = [await refuse('failed'), await refuse('expired')]

      assert.deepEqual(
        refused.map(({ status }) => status),
        [400, 400],
      )
      const events = await told()
      const about = (subject: string) => typesOf(events.filter((one) => one.subject === subject))
      assert.deepEqual(about(failed.paymentId), ['payment.created', 'payment.failed'])
      assert.deepEqual(about(expired.paymentId), ['payment.created', 'payment.expired'])
    })
  })

describe('access to events and endpoints', () => {
  test('by keys requires a key for every operation', async (t) => {
    const { api, server } = await startPayments(t, { env: { PAYMENTS_ACCESS: 'keys' } })

    const list = await api.get('/api/events')
    const make = await api.post(PATH, { url: 'http://127.0.0.1:1/' })

    assert.deepEqual([list.status, make.status], [401, 401])
    const { operations } = server
    const guarded = operations.filter(({ url }) => /^\/api\/(events|webhooks\/)/.test(url))
    assert.equal(guarded.length, 14)
    assert.ok(guarded.every(({ access }) => access.length > 0))
  })

  test('by keys shows the replies of endpoints only to keys that manage endpoints', async (t) => {
    const env = { PAYMENTS_ACCESS: 'keys' }
    const { api, payments, clock, dispatcher } = await startPayments(t, { env })
    const scopes = ['events:read', 'webhooks:write']
    const options = { clock, production: false, scopes, record: async () => {} }
    const keys = openServiceKeys(payments.db, options)
    const by = { actor: 'test', origin: { address: '', requestId: null } }
    const keyWith = async (...wanted: string[]) =>
      (await createServiceKey(keys, { name: 'shop', scopes: wanted }, by)).secret
    const [reader, manager] = [await keyWith('events:read'), await keyWith(...scopes)]
    const receiver = await startReceiver(t)
    receiver.answerWith(() => ({ status: 500, body: 'what is inside' }))

    await api.post(PATH, { url: receiver.url }, { token: manager })
    await dispatcher.idle()

    const replyFor = async (token: string) => {
      const { body } = await api.get(`/api/events/${receiver.all[0]?.id}`, { token })
      return body.deliveries[0].attempts[0].reply
    }
    assert.deepEqual([await replyFor(reader), await replyFor(manager)], [null, 'what is inside'])
  })

  test('without a master key cannot create endpoints, but still lists events', async (t) => {
    const { api } = await startPayments(t, { overrides: { masterKey: undefined } })

    const made = await api.post(PATH, { url: 'http://127.0.0.1:1/' })

    assert.deepEqual([made.status, made.body.code], [503, 'WEBHOOKS_NOT_CONFIGURED'])
    assert.deepEqual((await api.get('/api/events')).body, { items: [], next: null })
  })
})
