import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { TestEngine } from '@plinth/kit/testing'
import { checkoutBody, startLoop } from './start-loop.ts'
import { engines } from './start-payments.ts'

const DAY = 86_400
const EVENTS = '/api/webhook-events'

async function start(t: TestContext, engine: TestEngine, env = {}) {
  const loop = await startLoop(t, { databaseUrl: await engine.freshUrl(t), env })
  const inbox = async (): Promise<{ id: string; type: string; sizeBytes: number }[]> =>
    (await loop.api.get(`${EVENTS}?size=2000`)).body.content
  const forget = async (days: number) => {
    loop.clock.advance(days * DAY)
    assert.ok(await loop.jobs.retention.runNow())
  }
  return { ...loop, inbox, forget }
}

const other = (number: number) => ({
  id: `evt_other_${number}`,
  type: 'customer.created',
  data: { object: { id: `cus_${number}` } },
})

for (const engine of engines)
  describe(`Old events on ${engine.name}`, engine.options, () => {
    test('lose their payload after 30 days, and the timeline still says why the payment is what it is', async (t) => {
      const { paid, refund, timeline, sandbox, inbox, forget, api } = await start(t, engine)
      const { paymentId } = await paid()
      await refund(paymentId, { reference: 'r', amount: 400 })
      await sandbox.flush()
      const before = await timeline(paymentId)

      await forget(29)
      const kept = await inbox()
      await forget(2)
      const shrunk = await inbox()

      assert.ok(kept.length > 0 && kept.every(({ sizeBytes }) => sizeBytes > 0))
      assert.ok(shrunk.length > 0 && shrunk.every(({ sizeBytes }) => sizeBytes === 0))
      assert.equal((await api.get(`${EVENTS}/${shrunk[0]?.id}`)).body.payload, null)
      const after = await timeline(paymentId)
      assert.deepEqual(after.explanation, before.explanation)
      const changes = ({ observations }: typeof before) =>
        observations.filter(
          (one: Record<string, unknown>) =>
            one.source !== 'look-up' || one.statusBefore !== one.statusAfter,
        )
      assert.deepEqual(changes(after), changes(before))
    })

    test('are not applied again when the provider sends them again', async (t) => {
      const { paid, refund, timeline, payment, sandbox, inbox, forget, api } = await start(
        t,
        engine,
      )
      const { paymentId } = await paid()
      await refund(paymentId, { reference: 'r', amount: 400 })
      await sandbox.flush()
      await forget(31)
      const known = async () => {
        const { observations, refunds } = await timeline(paymentId)
        const fromEvents = observations.filter((one: { eventId: string }) => one.eventId !== null)
        return { fromEvents, refunds, payment: await payment(paymentId) }
      }
      const before = await known()
      const events = await inbox()

      for (const { id } of events) await sandbox.api.post(`/sandbox/api/events/${id}/resend`)
      await sandbox.flush()
      const retried = await api.post(`${EVENTS}/${events[0]?.id}/retry`)

      assert.deepEqual([retried.status, retried.body.duplicate], [200, true])
      assert.deepEqual(await known(), before)
      assert.deepEqual(await inbox(), events)
    })

    test('that were ignored are removed, more than one batch of them', async (t) => {
      const { deliver, payments, inbox, forget } = await start(t, engine)
      await deliver(other(0))
      const row = await payments.db
        .selectFrom('webhook_events')
        .selectAll()
        .executeTakeFirstOrThrow()
      const rows = Array.from({ length: 1_200 }, (_, n) => ({ ...row, id: `evt_copy_${n}` }))
      for (let n = 0; n < rows.length; n += 400)
        await payments.db
          .insertInto('webhook_events')
          .values(rows.slice(n, n + 400))
          .execute()

      await forget(31)
      await deliver(other(1))
      await forget(1)

      assert.deepEqual(
        (await inbox()).map(({ id }) => id),
        ['evt_other_1'],
      )
    })

    test('that wait for a payment or have failed are kept whole, still work, and then lose their payload', async (t) => {
      const { api, deliver, forget, inbox, payment } = await start(t, engine)
      const order = checkoutBody()
      const metadata = { businessReference: order.businessReference }
      const session = { id: 'cs_early', payment_status: 'paid', status: 'complete', metadata }
      const object = { ...session, payment_intent: 'pi_1', amount_total: 1000, currency: 'eur' }
      const parked = { id: 'evt_parked', type: 'checkout.session.completed', data: { object } }
      assert.equal((await deliver(parked)).status, 200)

      await forget(31)
      const { body: kept } = await api.get(`${EVENTS}/evt_parked`)
      const opened = await api.post('/api/checkout/sessions', order)
      const [{ id }] = (await api.get('/api/payments')).body.content

      assert.deepEqual(kept.payload.data.object.metadata, metadata)
      assert.equal(opened.status, 409)
      assert.equal((await payment(id)).status, 'PAID')
      await forget(1)
      const applied = (await inbox()).find((event) => event.id === 'evt_parked')
      assert.equal(applied?.sizeBytes, 0)
    })

    test('are kept as long as PAYMENTS_EVENT_RETENTION_DAYS says', async (t) => {
      const env = { PAYMENTS_EVENT_RETENTION_DAYS: '90' }
      const { deliver, inbox, forget } = await start(t, engine, env)
      await deliver(other(0))

      await forget(89)
      const kept = await inbox()
      await forget(2)

      assert.equal(kept.length, 1)
      assert.equal((await inbox()).length, 0)
    })
  })
