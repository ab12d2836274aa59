import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { countRoundTrips } from '@plinth/kit/testing'
import { startLoop } from './start-loop.ts'
import { engines } from './start-payments.ts'

const postgres = engines.find(({ name }) => name === 'postgres')

type Event = { id: string; type: string }

describe('round trips to PostgreSQL', { skip: postgres?.skip }, () => {
  const start = async (t: TestContext) => {
    const database = await countRoundTrips(t, (await postgres?.freshUrl(t)) ?? '')
    const loop = await startLoop(t, { databaseUrl: database.url })
    const { sandbox, deliver } = loop
    await sandbox.flush()
    await sandbox.switch({ drop: ['*'] })
    const delivered = new Set<string>()
    const deliverNew = async (type: string) => {
      const events: Event[] = await sandbox.events()
      const event = events.find((one) => one.type === type && !delivered.has(one.id))
      assert.ok(event)
      delivered.add(event.id)
      return database.roundTripsOf(async () => {
        const { status, body } = await deliver(event)
        assert.deepEqual([status, body.status, body.duplicate], [200, 'PROCESSED', false])
      })
    }
    /** The minimum over five webhooks, because background jobs query the database too. */
    const fewestOf = async (type: string, makeEvent: (time: number) => Promise<unknown>) => {
      const counts: number[] = []
      for (let time = 0; time < 5; time++) {
        await makeEvent(time)
        counts.push(await deliverNew(type))
      }
      return Math.min(...counts)
    }
    const pay = async () => {
      const { body } = await loop.checkOut()
      await sandbox.pay(body.checkoutSessionId)
      return body.paymentId as string
    }
    return { ...loop, pay, deliverNew, fewestOf }
  }

  test('of a webhook about a session are three', async (t) => {
    const { pay, payment, fewestOf } = await start(t)
    const paid: string[] = []

    const trips = await fewestOf('checkout.session.completed', async () => {
      paid.push(await pay())
    })

    assert.equal(trips, 3)
    for (const id of paid) assert.equal((await payment(id)).status, 'PAID')
  })

  test('of a webhook about a refund are three', async (t) => {
    const { pay, sandbox, payment, deliverNew, fewestOf } = await start(t)
    const refunded: string[] = []

    const trips = await fewestOf('refund.created', async () => {
      const id = await pay()
      await deliverNew('checkout.session.completed')
      const { providerPaymentIntentId } = await payment(id)
      await sandbox.dashboardRefund(providerPaymentIntentId, 1)
      refunded.push(id)
    })

    assert.equal(trips, 3)
    for (const id of refunded) assert.equal((await payment(id)).refundedAmount, 1)
  })

  test('of a webhook about a payment that does not exist yet are four', async (t) => {
    const { checkOut, sandbox, fewestOf } = await start(t)
    await checkOut()

    const trips = await fewestOf('checkout.session.completed', (time) =>
      sandbox.forge({
        type: 'checkout.session.completed',
        object: {
          id: `cs_elsewhere_${time}`,
          object: 'checkout.session',
          status: 'complete',
          payment_status: 'paid',
          metadata: { businessReference: `order ${time}, to come` },
        },
      }),
    )

    assert.equal(trips, 4)
  })
})
