import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { signPayload } from '@plinth/kit/tokens'
import { insertAttempt } from '../src/payment/database/attempts.repository.ts'
import { insertPayment } from '../src/payment/database/payments.repository.ts'
import type { NewSession } from '../src/provider/provider.ts'
import { HISTORIES, type History, permutations, type Step } from './histories.ts'
import { engines, startPayments, WEBHOOK_SECRET } from './start-payments.ts'

/** Only every nth order is sent over HTTP; 1 means all of them, as in `npm test`. */
const EVERY = Math.max(1, Number(process.env.PROPERTY_RUNS_DIVISOR ?? 1))
const AT_ONCE = 64

type Order = { history: History; steps: Step[] }

/** Every permutation of every history, with one of its events repeated at the end, taking turns. */
const ORDERS: Order[] = HISTORIES.flatMap((history) =>
  [...permutations(history.steps)].map((order, index) => {
    const repeated = order[index % order.length] as Step
    return { history, steps: [...order, repeated] }
  }),
)

for (const engine of engines)
  describe(`the order of events on ${engine.name}`, engine.options, () => {
    test('does not matter: every permutation of nine histories, with one event repeated, ends alike', async (t) => {
      const service = await start(t, await engine.freshUrl(t))
      const orders = ORDERS.filter((_, index) => index % EVERY === 0)
      const waiting = orders.values()
      let deliveries = 0
      const teller = async () => {
        for (const order of waiting) {
          const made = await playOut(service, order)
          deliveries += made
        }
      }

      await Promise.all(Array.from({ length: AT_ONCE }, teller))

      t.diagnostic(`${orders.length} orders, ${deliveries} deliveries over HTTP, 0 diverged`)
    })
  })

type Service = Awaited<ReturnType<typeof start>>

async function start(t: TestContext, databaseUrl: string) {
  const service = await startPayments(t, { databaseUrl })
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const send = sender(agent, service.baseUrl)
  const deliver = (event: object) => {
    const body = JSON.stringify(event)
    const signature = signPayload(body, [WEBHOOK_SECRET], service.clock())
    return send('POST', '/api/provider/webhook', { body, signature })
  }
  return { ...service, deliver, read: (id: string) => send('GET', `/api/payments/${id}`) }
}

/** Plain node:http, which costs a third of what fetch does: there are thousands of requests. */
function sender(agent: Agent, baseUrl: string) {
  return async (method: string, path: string, sent?: { body: string; signature: string }) => {
    const headers = sent && {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(sent.body),
      'provider-signature': sent.signature,
    }
    const call = request(`${baseUrl}${path}`, { agent, method, headers }).end(sent?.body)
    const [reply] = (await once(call, 'response')) as [IncomingMessage]
    return { status: reply.statusCode, body: JSON.parse(await text(reply)) }
  }
}

let played = 0

/** Each order gets its own payment, with hand-made events about its own sessions. */
async function playOut(service: Service, { history, steps }: Order): Promise<number> {
  const paymentId = randomUUID()
  const sessions = await openSessions(service, paymentId, history)
  const events = steps.map((step) => eventOf(step, paymentId))
  const failed = []
  for (const event of events) if ((await service.deliver(event)).status !== 200) failed.push(event)
  // The provider redelivers events that were answered with an error.
  for (const event of failed) assert.equal((await service.deliver(event)).status, 200, history.name)

  const { body: shown } = await service.read(paymentId)
  assert.equal(
    `${shown.status}/${shown.checkoutStatus} ${shown.refundedAmount}`,
    `${history.status}/COMPLETE ${history.refunded}`,
    `${history.name}: ${steps.map((step) => step.event).join(', ')}`,
  )
  assert.equal(shown.providerCheckoutSessionId, `cs_${sessions}_${paymentId}`)
  return events.length + failed.length
}

/** Stores what a checkout would, without calling the provider: there are thousands of orders. */
async function openSessions(service: Service, paymentId: string, history: History) {
  const { db, clock } = service.payments
  played += 1
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
