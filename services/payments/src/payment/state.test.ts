import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HISTORIES, inOrder, permutations, type Step } from '../../test/histories.ts'
import { refundStatusOf } from '../provider/values.ts'
import {
  type AttemptFacts,
  derivePayment,
  joinAttemptState,
  joinRefundStatus,
  type RefundFacts,
  refundableAmount,
} from './state.ts'

const ATTEMPT: AttemptFacts = {
  sequence: 1,
  reference: 'a1',
  state: 'paid',
  sessionId: 'cs_1',
  paymentIntentId: 'pi_1',
}
const refund = (amount: number, status: RefundFacts['status'], intent = 'pi_1'): RefundFacts => ({
  paymentIntentId: intent,
  amount,
  status,
})

/** The smallest possible service: joins every step of a history and derives the payment. */
function replay(steps: readonly Step[]) {
  const attempts = new Map<number, AttemptFacts>()
  const refunds = new Map<string, RefundFacts>()
  for (const attempt of new Set(steps.flatMap((step) => ('attempt' in step ? step.attempt : []))))
    attempts.set(attempt, {
      ...ATTEMPT,
      sequence: attempt,
      reference: `a${attempt}`,
      sessionId: `cs_${attempt}`,
      paymentIntentId: null,
      state: 'open',
    })
  for (const step of steps) {
    if ('attempt' in step) {
      const known = attempts.get(step.attempt) as AttemptFacts
      known.state = joinAttemptState(known.state, step.state)
      if (step.state !== 'expired') known.paymentIntentId = `pi_${step.attempt}`
    } else {
      const known = refunds.get(step.refund)
      const status = known ? joinRefundStatus(known.status, step.status) : step.status
      refunds.set(step.refund, refund(step.amount, status, step.intent))
    }
  }
  return derivePayment(1000, [...attempts.values()], [...refunds.values()])
}

describe('the join of observations', () => {
  test('ends in the same state for every order of the nine histories with any event repeated', (t) => {
    let deliveries = 0
    for (const history of HISTORIES) {
      const expected = replay(history.steps)
      assert.deepEqual({ ...expected, anomalies: undefined }, inOrder(history))
      for (const order of permutations(history.steps))
        for (const repeated of order) {
          deliveries += 1
          assert.deepEqual(replay([...order, repeated]), expected, history.name)
        }
    }
    t.diagnostic(`${deliveries} deliveries, 0 diverged`)
    assert.equal(deliveries, 5065)
  })

  test('never undoes paid, and lets a succeeded refund fail later', () => {
    assert.equal(joinAttemptState('paid', 'failed'), 'paid')
    assert.equal(joinAttemptState('paid', 'expired'), 'paid')
    assert.equal(joinRefundStatus('succeeded', 'failed'), 'failed')
    assert.equal(joinRefundStatus('failed', 'succeeded'), 'failed')
    assert.equal(joinRefundStatus('succeeded', 'pending'), 'succeeded')
  })
})

describe('the derived payment', () => {
  test('is PENDING without a checkout status before the provider has answered', () => {
    const derived = derivePayment(1000, [{ ...ATTEMPT, state: 'reserved', sessionId: null }], [])

    assert.equal(derived.status, 'PENDING')
    assert.equal(derived.checkoutStatus, null)
  })

  test('follows the latest attempt while nothing is paid', () => {
    const failed = { ...ATTEMPT, state: 'failed' } as const
    const open = { ...ATTEMPT, sequence: 2, state: 'open', paymentIntentId: null } as const

    assert.deepEqual(derivePayment(1000, [failed], []).status, 'FAILED')
    assert.deepEqual(derivePayment(1000, [failed, open], []).status, 'PENDING')
    assert.deepEqual(derivePayment(1000, [open, failed], []).checkoutStatus, 'OPEN')
    assert.deepEqual(derivePayment(1000, [open, failed], []).paymentIntentId, null)
  })

  test('counts only succeeded refunds of the settling intent', () => {
    const refunds = [refund(300, 'succeeded'), refund(200, 'pending'), refund(1000, 'failed')]

    const derived = derivePayment(1000, [ATTEMPT], [...refunds, refund(500, 'succeeded', 'pi_9')])

    assert.equal(derived.refundedAmount, 300)
    assert.equal(derived.status, 'PARTIALLY_REFUNDED')
  })

  test('is settled by the first paid attempt, regardless of the order they are given in', () => {
    const second = { ...ATTEMPT, sequence: 2, sessionId: 'cs_2', paymentIntentId: 'pi_2' }
    const refunds = [refund(300, 'succeeded'), refund(50, 'succeeded', 'pi_2')]
    const payment = { amount: 1000 }

    for (const attempts of [
      [ATTEMPT, second],
      [second, ATTEMPT],
    ]) {
      const { sessionId, paymentIntentId, refundedAmount } = derivePayment(1000, attempts, refunds)
      const refundable = refundableAmount({ payment, attempts, refunds, unresolved: [] })
      assert.deepEqual([sessionId, paymentIntentId], ['cs_1', 'pi_1'])
      assert.deepEqual([refundedAmount, refundable], [300, 700])
    }
  })

  test('reports two paid attempts, a missing intent and refunds beyond the amount as anomalies', () => {
    const second = { ...ATTEMPT, sequence: 2, sessionId: 'cs_2', paymentIntentId: 'pi_2' }
    const anomalies = (attempts: AttemptFacts[], refunds: RefundFacts[] = []) =>
      derivePayment(1000, attempts, refunds).anomalies

    assert.deepEqual(anomalies([second, ATTEMPT]), ['PAID_TWICE'])
    assert.deepEqual(anomalies([{ ...ATTEMPT, paymentIntentId: null }]), ['PAID_WITHOUT_INTENT'])
    assert.deepEqual(anomalies([ATTEMPT], [refund(1001, 'succeeded')]), ['REFUNDED_BEYOND_AMOUNT'])
  })
})

describe('the refundable amount', () => {
  test('reserves refunds in progress and refund attempts with an unknown outcome', () => {
    const refunds = [refund(100, 'succeeded'), refund(200, 'pending'), refund(50, 'failed')]
    const record = { payment: { amount: 1000 }, attempts: [ATTEMPT], refunds }

    assert.equal(refundableAmount({ ...record, unresolved: [{ amount: 300 }] }), 400)
    assert.equal(refundableAmount({ ...record, unresolved: [{ amount: 9000 }] }), 0)
  })

  test('is nothing unless an attempt was paid and has an intent', () => {
    const refundable = (attempt: Partial<AttemptFacts>) =>
      refundableAmount({
        payment: { amount: 1000 },
        attempts: [{ ...ATTEMPT, ...attempt }],
        refunds: [],
        unresolved: [],
      })

    assert.equal(refundable({}), 1000)
    for (const state of ['open', 'expired', 'processing', 'failed'] as const)
      assert.equal(refundable({ state }), 0, state)
    assert.equal(refundable({ paymentIntentId: null }), 0)
  })
})

test('a refund status in another case or of another API version is understood', () => {
  assert.equal(refundStatusOf('SUCCEEDED'), 'succeeded')
  assert.equal(refundStatusOf('in_transit'), 'pending')
  assert.equal(refundStatusOf(null), 'pending')
})
