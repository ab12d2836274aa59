import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Db, inTransaction } from '@plinth/kit/database'
import { sql } from 'kysely'
import { until } from '../../../test/until.ts'
import { insertPayment } from '../src/payment/database/payments.repository.ts'
import type { PaymentTables } from '../src/payment/database/tables.ts'
import { findEventTarget } from '../src/webhooks/event-target.ts'
import { claimEvent, newInboxEvent } from '../src/webhooks/events.repository.ts'
import { linkParkedEvents } from '../src/webhooks/parked-events.ts'
import { startLoop } from './start-loop.ts'
import { engines } from './start-payments.ts'

type Scope = { after(work: () => void): void }

/** Names its payment only by business reference; our own sessions also carry the payment id. */
const paidEvent = (businessReference: string) => ({
  id: `evt_${businessReference}`,
  type: 'checkout.session.completed',
  data: {
    object: {
      id: `cs_${businessReference}`,
      status: 'complete',
      payment_status: 'paid',
      payment_intent: `pi_${businessReference}`,
      amount_total: 1000,
      currency: 'eur',
      metadata: { businessReference },
    },
  },
})

for (const engine of engines)
  describe(`an event whose payment does not exist yet, on ${engine.name}`, engine.options, () => {
    const start = async (t: Scope) => {
      const loop = await startLoop(t, { webhooks: false, databaseUrl: await engine.freshUrl(t) })
      const statusOf = async (businessReference: string) => {
        const path = `/api/payments?businessReference=${businessReference}`
        return (await loop.api.get(path)).body.content[0]?.status
      }
      return { ...loop, statusOf }
    }

    test('is kept, and linked when the payment appears', async (t) => {
      const { deliver, checkOut, api } = await start(t)
      const kept = await deliver(paidEvent('later'))

      const reply = await checkOut({ businessReference: 'later' })

      assert.equal(kept.body.status, 'PROCESSED')
      assert.equal(reply.status, 409)
      const [shown] = (await api.get('/api/payments?businessReference=later')).body.content
      assert.equal(shown.status, 'PAID')
      assert.equal(shown.providerPaymentIntentId, 'pi_later')
      const [event] = (await api.get('/api/webhook-events')).body.content
      assert.equal(event.paymentId, shown.id)
    })

    test('counts as foreign when it names another payment', async (t) => {
      const { deliver, checkOut, timeline } = await start(t)
      const { data, ...event } = paidEvent('shared')
      const metadata = { businessReference: 'shared', paymentId: crypto.randomUUID() }
      await deliver({ ...event, data: { object: { ...data.object, metadata } } })

      const reply = await checkOut({ businessReference: 'shared' })

      assert.equal(reply.status, 201)
      const { observations } = await timeline(reply.body.paymentId)
      assert.equal(observations[0].anomaly, 'REFERENCE_USED_ELSEWHERE')
    })

    test('counts as foreign when another payment has its reference by then', async (t) => {
      const { deliver, checkOut, timeline } = await start(t)
      const { body } = await checkOut({ businessReference: 'shared' })
      const { data, ...event } = paidEvent('shared')
      const metadata = { businessReference: 'shared', paymentId: crypto.randomUUID() }

      const reply = await deliver({ ...event, data: { object: { ...data.object, metadata } } })

      assert.equal(reply.body.status, 'PROCESSED')
      const { status, observations } = await timeline(body.paymentId)
      assert.equal(status, 'PENDING')
      assert.equal(observations.at(-1).anomaly, 'REFERENCE_USED_ELSEWHERE')
      assert.equal(observations.at(-1).eventId, event.id)
    })

    test('of another amount is kept as failed, and the payment is still created', async (t) => {
      const { api, deliver, checkOut, timeline } = await start(t)
      await deliver(paidEvent('differs'))

      const reply = await checkOut({ businessReference: 'differs', amount: 999 })

      assert.equal(reply.status, 201)
      const { status, observations } = await timeline(reply.body.paymentId)
      assert.equal(status, 'PENDING')
      assert.equal(observations[0].anomaly, 'SESSION_DIFFERS')
      const [event] = (await api.get('/api/webhook-events?status=FAILED')).body.content
      assert.equal(event.paymentId, reply.body.paymentId)
      assert.match(event.error, /is for 1000 eur/)
    })

    test('is never missed when it arrives while the payment is being created', async (t) => {
      const { deliver, checkOut, statusOf } = await start(t)
      const references = Array.from({ length: 20 }, (_, index) => `close-${index}`)

      await Promise.all(
        references.flatMap((businessReference) => [
          checkOut({ businessReference }),
          deliver(paidEvent(businessReference)),
        ]),
      )

      const statuses = await Promise.all(references.map(statusOf))
      assert.deepEqual(new Set(statuses), new Set(['PAID']))
    })

    // SQLite has one writer at a time: neither can begin before the other has ended.
    if (engine.name === 'sqlite') return

    test('makes the payment wait while it is being parked', async (t) => {
      const { payments, checkOut, statusOf } = await start(t)
      const body = JSON.stringify(paidEvent('b'))
      const event = payments.provider.readStored(body)
      const delivery = { event, body, source: 'webhook' } as const

      const reply = await whileOpen(
        payments.db,
        async (db) => {
          const target = await findEventTarget(db, event)
          await claimEvent(db, { ...newInboxEvent(delivery, payments.clock()), ...target })
        },
        () => checkOut({ businessReference: 'b' }),
      )

      assert.equal(reply.status, 409)
      assert.equal(await statusOf('b'), 'PAID')
    })

    test('waits while its payment is being inserted', async (t) => {
      const { payments, deliver, statusOf } = await start(t)
      const payment = {
        id: crypto.randomUUID(),
        businessReference: 'b',
        providerCustomerId: null,
        amount: 1000,
        currency: 'eur',
        createdAt: payments.clock().toISOString(),
      }

      const reply = await whileOpen(
        payments.db,
        async (db) => {
          await insertPayment(db, payment)
          await linkParkedEvents({ ...payments, db }, payment, payments.clock())
        },
        () => deliver(paidEvent('b')),
      )

      assert.equal(reply.status, 200)
      assert.equal(await statusOf('b'), 'PAID')
    })
  })

/** Runs `later` while the transaction of `first` is open, and ends that transaction once `later` waits for it. */
async function whileOpen<T>(
  db: Db<PaymentTables>,
  first: (transaction: Db<PaymentTables>) => Promise<void>,
  later: () => Promise<T>,
): Promise<T> {
  const begun = Promise.withResolvers<void>()
  const ending = Promise.withResolvers<void>()
  const open = inTransaction(db, async (transaction) => {
    await first(transaction)
    begun.resolve()
    await ending.promise
  })
  await begun.promise
  const result = later()
  await Promise.race([result, untilOneWaits(db)])
  ending.resolve()
  await open
  return result
}

async function untilOneWaits(db: Db<PaymentTables>): Promise<void> {
  const waiting = sql<{ pid: number }>`
    select pid from pg_locks join pg_database on pg_database.oid = pg_locks.database
    where datname = current_database() and locktype = 'advisory' and not granted`
  await until(
    async () => (await waiting.execute(db)).rows,
    (rows) => rows.length > 0,
    5,
  )
}
