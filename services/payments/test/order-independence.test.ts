import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { insertAttempt } from '../src/attempts.repository.ts'
import { insertPayment } from '../src/payments.repository.ts'
import type { NewSession } from '../src/provider/provider.ts'
import { HISTORIES, type History, permutations, type Step } from './histories.ts'
import { startPayments } from './start-payments.ts'

/** Every how many orders of a long history go over HTTP; 1 is all of them, as in `npm test`. */
const EVERY = Math.max(1, Number(process.env.PROPERTY_RUNS_DIVISOR ?? 1))

describe('the order of events', () => {
  test('does not matter: every permutation of nine histories, one event twice, ends alike', async (t) => {
    const service = await startPayments(t)
    let orders = 0
    let deliveries = 0
    for (const history of HISTORIES)
      for (const [index, order] of [...permutations(history.steps)].entries()) {
        if (index % EVERY !== 0) continue
        const repeated = order[index % order.length] as Step
        deliveries += await playOut(service, history, [...order, repeated])
        orders += 1
      }

    t.diagnostic(`${orders} orders, ${deliveries} deliveries over HTTP, 0 diverged`)
  })
})

type Service = Awaited<ReturnType<typeof startPayments>>

let played = 0

/** A payment of its own for each order, told by hand-made events about its own sessions. */
async function playOut(service: Service, history: History, steps: Step[]): Promise<number> {
  played += 1
  const paymentId = randomUUID()
  const sessions = await openSessions(service, paymentId, history)
  const events = steps.map((step) => eventOf(step, paymentId))
  const failed = []
  for (const event of events) if ((await service.deliver(event)).status !== 200) failed.push(event)
  // The provider delivers again what was answered with an error.
  for (const event of failed) assert.equal((await service.deliver(event)).status, 200, history.name)

  const { body: shown } = await service.api.get(`/api/payments/${paymentId}`)
  assert.equal(
    `${shown.status}/${shown.checkoutStatus} ${shown.refundedAmount}`,
    `${history.status}/COMPLETE ${history.refunded}`,
    `${history.name}: ${steps.map((step) => step.event).join(', ')}`,
  )
  assert.equal(shown.providerCheckoutSessionId, `cs_${sessions}_${paymentId}`)
  return events.length + failed.length
}

/** As a checkout leaves them, without the provider: there are hundreds of orders to tell. */
async function openSessions(service: Service, paymentId: string, history: History) {
  const { db, clock } = service.payments
  const createdAt = clock().toISOString()
  const ids = { id: paymentId, businessReference: `history ${played}`, providerCustomerId: null }
  await insertPayment(db, { ...ids, amount: 1000, currency: 'eur', createdAt })
  const attempts = history.steps.some((step) => 'attempt' in step && step.attempt === 2) ? 2 : 1
  for (let sequence = 1; sequence <= attempts; sequence++)
    await insertAttempt(db, {
      paymentId,
      sequence,
      reference: `attempt ${sequence}`,
      state: 'open',
      sessionId: `cs_${sequence}_${paymentId}`,
      paymentIntentId: null,
      url: 'http://localhost/pay',
      expiresAt: null,
      request: JSON.stringify(REQUEST),
      idempotencyKey: 'not sent',
      firstSentAt: createdAt,
    })
  return attempts
}

const REQUEST: NewSession = {
  amount: 1000,
  currency: 'eur',
  description: 'A chair',
  customerId: null,
  customerEmail: null,
  successUrl: 'http://localhost',
  cancelUrl: 'http://localhost',
  reference: '',
  metadata: {},
}

function eventOf(step: Step, paymentId: string) {
  const id = `evt_${JSON.stringify(step)}_${paymentId}`
  return { id, object: 'event', type: step.event, data: { object: objectOf(step, paymentId) } }
}

function objectOf(step: Step, paymentId: string) {
  if ('refund' in step) {
    const { amount, status, intent } = step
    const id = `${step.refund}_${paymentId}`
    return { id, amount, status, currency: 'eur', payment_intent: `${intent}_${paymentId}` }
  }
  return {
    id: `cs_${step.attempt}_${paymentId}`,
    status: step.state === 'expired' ? 'expired' : 'complete',
    payment_status: step.state === 'paid' ? 'paid' : 'unpaid',
    payment_intent: step.state === 'expired' ? null : `pi_${step.attempt}_${paymentId}`,
    amount_total: 1000,
    currency: 'eur',
  }
}
