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
    const tripsOf = async (type: string) => {
      const events: Event[] = await sandbox.events()
      const event = events.find((one) => one.type === type)
      return database.roundTripsOf(async () => {
        const { status, body } = await deliver(event)
        assert.deepEqual([status, body.status, body.duplicate], [200, 'PROCESSED', false])
      })
    }
    return { ...loop, tripsOf }
  }

  test('of a webhook about a session are three', async (t) => {
    const { checkOut, sandbox, payment, tripsOf } = await start(t)
    const { body } = await checkOut()
    await sandbox.pay(body.checkoutSessionId)

    const trips = await tripsOf('checkout.session.completed')

    assert.equal(trips, 3)
    assert.equal((await payment(body.paymentId)).status, 'PAID')
  })

  test('of a webhook about a refund are three', async (t) => {
    const { checkOut, sandbox, payment, tripsOf } = await start(t)
    const { body } = await checkOut()
    await sandbox.pay(body.checkoutSessionId)
    await tripsOf('checkout.session.completed')
    const { providerPaymentIntentId } = await payment(body.paymentId)
    await sandbox.dashboardRefund(providerPaymentIntentId, 1)

    const trips = await tripsOf('refund.created')

    assert.equal(trips, 3)
    assert.equal((await payment(body.paymentId)).refundedAmount, 1)
  })

  test('of a webhook about a payment that is not here yet are four', async (t) => {
    const { checkOut, sandbox, tripsOf } = await start(t)
    await checkOut()
    await sandbox.forge({
      type: 'checkout.session.completed',
      object: {
        id: 'cs_elsewhere',
        object: 'checkout.session',
        status: 'complete',
        payment_status: 'paid',
        metadata: { businessReference: 'an order to come' },
      },
    })

    const trips = await tripsOf('checkout.session.completed')

    assert.equal(trips, 4)
  })
})
