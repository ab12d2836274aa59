import type { PaymentStatus } from '../src/payment/state.ts'
import type { RefundStatus, SessionState } from '../src/provider/provider.ts'

/** One event of the provider: about an attempt, or about a refund of an attempt's intent. */
export type Step =
  | { event: string; attempt: number; state: SessionState }
  | { event: string; refund: string; intent: string; amount: number; status: RefundStatus }

export type History = { name: string; steps: Step[]; status: PaymentStatus; refunded: number }

const expired = (attempt: number): Step => ({
  event: 'checkout.session.expired',
  attempt,
  state: 'expired',
})
const completed = (state: 'paid' | 'processing', attempt = 1): Step => ({
  event: 'checkout.session.completed',
  attempt,
  state,
})
const asyncSucceeded: Step = {
  event: 'checkout.session.async_payment_succeeded',
  attempt: 1,
  state: 'paid',
}
const asyncFailed: Step = {
  event: 'checkout.session.async_payment_failed',
  attempt: 1,
  state: 'failed',
}
const refund = (
  event: 'created' | 'updated' | 'failed',
  id: string,
  amount: number,
  status: RefundStatus,
  intent = 'pi_1',
): Step => ({ event: `refund.${event}`, refund: id, intent, amount, status })

/** Nine realistic histories of a payment of 1000, each in the order it happened. */
export const HISTORIES: History[] = [
  { name: 'paid', steps: [completed('paid')], status: 'PAID', refunded: 0 },
  {
    name: 'a bank debit that succeeds',
    steps: [completed('processing'), asyncSucceeded],
    status: 'PAID',
    refunded: 0,
  },
  {
    name: 'a bank debit that fails',
    steps: [completed('processing'), asyncFailed],
    status: 'FAILED',
    refunded: 0,
  },
  {
    name: 'refunded in full',
    steps: [completed('paid'), refund('created', 're_a', 1000, 'succeeded')],
    status: 'REFUNDED',
    refunded: 1000,
  },
  {
    name: 'a partial refund that was pending first',
    steps: [
      completed('paid'),
      refund('created', 're_a', 400, 'pending'),
      refund('updated', 're_a', 400, 'succeeded'),
    ],
    status: 'PARTIALLY_REFUNDED',
    refunded: 400,
  },
  {
    name: 'a full refund that fails later',
    steps: [
      completed('paid'),
      refund('created', 're_a', 1000, 'succeeded'),
      refund('updated', 're_a', 1000, 'failed'),
      refund('failed', 're_a', 1000, 'failed'),
    ],
    status: 'PAID',
    refunded: 0,
  },
  {
    name: 'two refunds, the second of which fails later',
    steps: [
      completed('paid'),
      refund('created', 're_a', 400, 'succeeded'),
      refund('created', 're_b', 600, 'pending'),
      refund('updated', 're_b', 600, 'succeeded'),
      refund('failed', 're_b', 600, 'failed'),
    ],
    status: 'PARTIALLY_REFUNDED',
    refunded: 400,
  },
  {
    name: 'a bank debit, a full refund that fails, then a smaller one',
    steps: [
      completed('processing'),
      asyncSucceeded,
      refund('created', 're_a', 1000, 'pending'),
      refund('updated', 're_a', 1000, 'succeeded'),
      refund('failed', 're_a', 1000, 'failed'),
      refund('created', 're_b', 300, 'succeeded'),
    ],
    status: 'PARTIALLY_REFUNDED',
    refunded: 300,
  },
  {
    name: 'a second attempt after the first expired',
    steps: [expired(1), completed('paid', 2), refund('created', 're_a', 100, 'succeeded', 'pi_2')],
    status: 'PARTIALLY_REFUNDED',
    refunded: 100,
  },
]

/** What the payment must look like, in whatever order the history arrives. */
export function inOrder(history: History) {
  const attempt = history.steps.some((step) => 'attempt' in step && step.attempt === 2) ? 2 : 1
  return {
    status: history.status,
    checkoutStatus: 'COMPLETE',
    refundedAmount: history.refunded,
    sessionId: `cs_${attempt}`,
    paymentIntentId: `pi_${attempt}`,
    attemptReference: `a${attempt}`,
    anomalies: undefined,
  }
}

export function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length <= 1) {
    yield [...items]
    return
  }
  for (const [index, first] of items.entries())
    for (const rest of permutations(items.toSpliced(index, 1))) yield [first, ...rest]
}
