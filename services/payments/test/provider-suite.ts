import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import type { TestClock } from '@plinth/kit/testing'
import { certaintyOf } from '../src/provider/failures.ts'
import {
  providerResourceMissing,
  signatureMissing,
  signatureRejected,
} from '../src/provider/problems.ts'
import type { NewSession, PaymentProvider } from '../src/provider/provider.ts'
import { checkoutBody } from './start-loop.ts'
import { startPayments } from './start-payments.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

type Sent = { bytes: Buffer; headers: Record<string, string[]> }

/** A provider, and what its customers do. */
type ProviderWorld = {
  provider: PaymentProvider
  clock: TestClock
  pay(sessionId: string): Promise<unknown>
  /** In lower case; one is enough. */
  signatureHeaders: string[]
  /** Everything that was sent so far, oldest first. */
  deliveries(): Promise<Sent[]>
}

const ORDER: NewSession = {
  amount: 1000,
  currency: 'eur',
  description: 'A chair',
  customerId: null,
  customerEmail: null,
  successUrl: 'https://shop.example/thanks',
  cancelUrl: 'https://shop.example/basket',
  reference: 'order-17',
  metadata: { paymentId: 'payment 17', businessReference: 'order-17' },
}

const { metadata } = ORDER

/** What every provider must do, whatever its API and its events look like. */
export function providerSuite(name: string, startWorld: (t: TestScope) => Promise<ProviderWorld>) {
  describe(`${name} as a provider`, () => {
    const start = async (t: TestScope) => {
      const world = await startWorld(t)
      const { calls } = world.provider
      assert.ok(calls)
      const paid = async () => {
        const { id } = await calls.createSession(ORDER, randomUUID())
        await world.pay(id)
        const { paymentIntentId } = await calls.findSession(id)
        assert.ok(paymentIntentId)
        return { id, paymentIntentId }
      }
      /** The events of the deliveries so far, read as the service reads them. */
      const events = async () =>
        (await world.deliveries()).map(({ bytes, headers }) =>
          world.provider.readDelivery(bytes, headers, world.clock()),
        )
      return { ...world, calls, paid, events }
    }

    test('opens a session with a page, and finds it again with our metadata', async (t) => {
      const { calls } = await start(t)

      const made = await calls.createSession(ORDER, randomUUID())
      const found = await calls.findSession(made.id)

      assert.equal(made.state, 'open')
      assert.match(made.url ?? '', /^https?:/)
      assert.deepEqual({ ...found, url: made.url }, made)
      assert.deepEqual([found.amount, found.currency, found.metadata], [1000, 'eur', metadata])
    })

    test('answers a key with the same session, and refuses it with other content', async (t) => {
      const { calls } = await start(t)
      const key = randomUUID()

      const made = await calls.createSession(ORDER, key)
      const again = await calls.createSession(ORDER, key)
      const other = calls.createSession({ ...ORDER, amount: 900 }, key)

      assert.equal(again.id, made.id)
      await assert.rejects(other, (error) => {
        const { didNothing, isFinal, keyConflict } = certaintyOf(error)
        return didNothing === true && isFinal === true && keyConflict === true
      })
    })

    test('says that an object does not exist', async (t) => {
      const { calls } = await start(t)

      for (const look of [calls.findSession, calls.findRefund, calls.findCustomer])
        await assert.rejects(look('missing'), (error) => providerResourceMissing.is(error))
    })

    test('ends a session once', async (t) => {
      const { calls } = await start(t)
      const { id } = await calls.createSession(ORDER, randomUUID())

      const ended = await calls.expireSession(id)

      assert.equal(ended.state, 'expired')
      assert.equal((await calls.findSession(id)).state, 'expired')
    })

    test('does not end a session that was paid', async (t) => {
      const { calls, paid } = await start(t)
      const { id } = await paid()

      await assert.rejects(calls.expireSession(id), (error) => certaintyOf(error).isFinal === true)
    })

    test('lists the sessions since a time', async (t) => {
      const { calls, clock } = await start(t)
      const { id } = await calls.createSession(ORDER, randomUUID())
      const idsSince = async (seconds: number) =>
        (
          await Array.fromAsync(calls.listSessions(new Date(clock().getTime() + seconds * 1000)))
        ).map((session) => session.id)

      assert.deepEqual(await idsSince(-60), [id])
      assert.deepEqual(await idsSince(60), [])
    })

    test('delivers that a session was paid, and the stored text reads the same', async (t) => {
      const { calls, provider, paid, events } = await start(t)
      const { id, paymentIntentId } = await paid()

      const delivered = (await events()).filter(({ event }) => event.about.kind === 'session')

      assert.equal((await calls.findSession(id)).state, 'paid')
      assert.equal(delivered.length, 1)
      for (const { event, body } of delivered) {
        assert.deepEqual(provider.readStored(body), event)
        assert.deepEqual(event.metadata, metadata)
        assert.ok(event.about.kind === 'session')
        const { session } = event.about
        assert.deepEqual(
          [session.id, session.state, session.paymentIntentId, session.amount, session.currency],
          [id, 'paid', paymentIntentId, 1000, 'eur'],
        )
      }
    })

    test('is known by its signature: over these bytes, at this time, once', async (t) => {
      const { provider, clock, paid, deliveries, signatureHeaders } = await start(t)
      await paid()
      const [sent] = await deliveries()
      assert.ok(sent)
      const { bytes, headers } = sent
      const split = Object.entries(headers)
      const unsigned = split.filter(([header]) => !signatureHeaders.includes(header))
      const twice = split.map(([header, values]) => [header, [...values, ...values]])
      const read = (changed: Buffer, under: Sent['headers']) => () =>
        provider.readDelivery(changed, under, clock())
      const isRejected = (error: unknown) => signatureRejected.is(error)

      provider.checkDelivery(headers)
      assert.throws(
        () => provider.checkDelivery(Object.fromEntries(unsigned)),
        (error) => signatureMissing(provider.deliveries.signatureHeader).is(error),
      )
      assert.throws(read(Buffer.concat([bytes, Buffer.from(' ')]), headers), isRejected)
      assert.throws(read(bytes, Object.fromEntries(twice)), isRejected)
      clock.advance(3600)
      assert.throws(read(bytes, headers), isRejected)
    })

    test('has a signature header, which a caller without it is told', async (t) => {
      const { provider, clock } = await start(t)
      const { api } = await startPayments(t, { clock, open: () => provider })

      const reply = await api.post('/api/provider/webhook', {})

      const { signatureHeader } = provider.deliveries
      assert.equal(reply.body.detail, `The ${signatureHeader} header is missing.`)
    })

    test('refunds once for each key, and never more than was paid', async (t) => {
      const { calls, paid, events } = await start(t)
      const { paymentIntentId } = await paid()
      const order = {
        paymentIntentId,
        amount: 600,
        reason: null,
        metadata: { refundReference: 'r' },
      }
      const key = randomUUID()

      const made = await calls.createRefund(order, key)
      const again = await calls.createRefund(order, key)
      const beyond = calls.createRefund(order, randomUUID())

      assert.deepEqual(
        [made.amount, made.status, made.metadata.refundReference],
        [600, 'succeeded', 'r'],
      )
      assert.equal(again.id, made.id)
      await assert.rejects(beyond, (error) => certaintyOf(error).isFinal === true)
      assert.deepEqual(await calls.listRefunds(paymentIntentId), [await calls.findRefund(made.id)])
      const told = (await events()).flatMap(({ event: { about } }) =>
        about.kind === 'refund' ? [about.refund] : [],
      )
      assert.ok(told.length > 0)
      for (const refund of told)
        assert.deepEqual(
          [refund.id, refund.paymentIntentId, refund.amount],
          [made.id, paymentIntentId, 600],
        )
    })

    test('lists the events it delivered', async (t) => {
      const { calls, clock, paid, events } = await start(t)
      await paid()
      const window = {
        from: new Date(clock().getTime() - 60_000),
        to: new Date(clock().getTime() + 60_000),
        after: null,
      }

      const page = await calls.listEvents(window)

      const delivered = (await events()).filter(({ event }) => event.about.kind === 'session')
      assert.ok(delivered.length > 0)
      for (const { event } of delivered)
        assert.deepEqual(page.events.find(({ id }) => id === event.id)?.event, event)
      assert.deepEqual([page.next, page.cutShort], [null, false])
    })

    test('keeps customers', async (t) => {
      const { calls } = await start(t)
      const ada = { email: 'ada@example.com', name: 'Ada', description: null, metadata: {} }
      const made = await calls.createCustomer(ada, randomUUID())
      await calls.createCustomer({ ...ada, email: 'eve@example.com' }, randomUUID())

      const listed = await calls.listCustomers({ email: ada.email, size: 10 })

      assert.deepEqual(await calls.findCustomer(made.id), { id: made.id, ...ada })
      assert.deepEqual(listed, { customers: [made], next: null })
    })

    test('serves payments: paid by webhook, by look-up and by poll, and refunded', async (t) => {
      const { provider, clock, pay, deliveries } = await start(t)
      const { api, jobs } = await startPayments(t, { clock, open: () => provider })
      const checkOut = async () => (await api.post('/api/checkout/sessions', checkoutBody())).body
      const deliver = async () => {
        for (const { bytes, headers } of await deliveries()) {
          const flat = Object.entries(headers).map(([key, values]) => [key, values.join(', ')])
          const sent = { body: bytes.toString(), headers: Object.fromEntries(flat) }
          const { status } = await api.request('POST', '/api/provider/webhook', sent)
          assert.equal(status, 200)
        }
      }
      const statusOf = async (id: string) => (await api.get(`/api/payments/${id}`)).body.status
      const [heard, asked, polled] = [await checkOut(), await checkOut(), await checkOut()]

      await pay(heard.checkoutSessionId)
      await deliver()
      await pay(asked.checkoutSessionId)
      await api.post(`/api/payments/${asked.paymentId}/check`, {})
      await pay(polled.checkoutSessionId)
      clock.advance(400)
      await jobs.poll.runNow()
      const refund = { reference: 'r', amount: 400 }
      const refunded = await api.post(`/api/payments/${heard.paymentId}/refund`, refund)

      assert.equal(refunded.status, 201)
      assert.equal(await statusOf(heard.paymentId), 'PARTIALLY_REFUNDED')
      assert.equal(await statusOf(asked.paymentId), 'PAID')
      assert.equal(await statusOf(polled.paymentId), 'PAID')
    })
  })
}
