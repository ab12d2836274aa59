import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HISTORIES, type History, permutations, type Step } from './histories.ts'
import { startLoop } from './start-loop.ts'

/** Every how many orders of a long history go over HTTP; 1 is all of them, as in `npm test`. */
const EVERY = Math.max(1, Number(process.env.PROPERTY_RUNS_DIVISOR ?? 1))

describe('the order of events', () => {
  test('does not matter: every permutation of nine histories, one event twice, ends alike', async (t) => {
    const loop = await startLoop(t, { webhooks: false })
    let orders = 0
    let deliveries = 0
    for (const history of HISTORIES)
      for (const [index, order] of [...permutations(history.steps)].entries()) {
        if (index % EVERY !== 0) continue
        const repeated = order[index % order.length] as Step
        deliveries += await playOut(loop, history, [...order, repeated])
        orders += 1
      }

    t.diagnostic(`${orders} orders, ${deliveries} deliveries over HTTP, 0 diverged`)
  })
})

type Loop = Awaited<ReturnType<typeof startLoop>>

let played = 0

/** A payment of its own for each order, told by hand-made events about its own sessions. */
async function playOut(loop: Loop, history: History, steps: Step[]): Promise<number> {
  played += 1
  const name = `history ${played}`
  const sessions = await openSessions(loop, name, history)
  const events = steps.map((step) => eventOf(step, sessions))
  const failed = []
  for (const event of events) if ((await loop.deliver(event)).status !== 200) failed.push(event)
  // The provider delivers again what was answered with an error.
  for (const event of failed) assert.equal((await loop.deliver(event)).status, 200, history.name)

  const shown = await loop.payment(sessions[0]?.paymentId ?? '')
  assert.equal(
    `${shown.status}/${shown.checkoutStatus} ${shown.refundedAmount}`,
    `${history.status}/COMPLETE ${history.refunded}`,
    `${history.name}: ${steps.map((step) => step.event).join(', ')}`,
  )
  const last = sessions.at(-1)?.checkoutSessionId
  assert.equal(shown.providerCheckoutSessionId, last)
  return events.length + failed.length
}

type Opened = { paymentId: string; checkoutSessionId: string }

async function openSessions(loop: Loop, name: string, history: History): Promise<Opened[]> {
  const open = async (attemptReference: string): Promise<Opened> =>
    (await loop.checkOut({ businessReference: name, attemptReference })).body
  const first = await open('one')
  if (!history.steps.some((step) => 'attempt' in step && step.attempt === 2)) return [first]
  await loop.sandbox.expire(first.checkoutSessionId)
  return [first, await open('two')]
}

function eventOf(step: Step, sessions: Opened[]) {
  const suffix = sessions[0]?.paymentId
  const id = `evt_${JSON.stringify(step)}_${suffix}`.slice(0, 255)
  return { id, object: 'event', type: step.event, data: { object: objectOf(step, sessions) } }
}

function objectOf(step: Step, sessions: Opened[]) {
  const suffix = sessions[0]?.paymentId
  if ('refund' in step) {
    const { amount, status, intent } = step
    const id = `${step.refund}_${suffix}`
    return { id, amount, status, currency: 'eur', payment_intent: `${intent}_${suffix}` }
  }
  const paid = step.state === 'paid'
  return {
    id: sessions[step.attempt - 1]?.checkoutSessionId,
    status: step.state === 'expired' ? 'expired' : 'complete',
    payment_status: paid ? 'paid' : 'unpaid',
    payment_intent: step.state === 'expired' ? null : `pi_${step.attempt}_${suffix}`,
    amount_total: 1000,
    currency: 'eur',
  }
}
