import type { RefundStatus, SessionState } from '../provider/provider.ts'

/**
 * The state machine, as pure functions. What the provider says about a session or a refund is
 * never applied in order of arrival: it is joined to what is known, and the higher state wins. The
 * exposed payment is derived from the result, so the same observations end in the same payment in
 * any order and with any repetition.
 */

/** Lowest first. Money wins: no later observation can undo `paid`. */
const SESSION_STATES: readonly SessionState[] = ['open', 'expired', 'processing', 'failed', 'paid']

/** Reserved until the provider names the session of the attempt. */
export type AttemptState = 'reserved' | SessionState

/** Lowest first. A refund that succeeded may still fail, but a failed one never succeeds. */
const REFUND_RANKS = ['requires_action', 'pending', 'succeeded', 'failed', 'canceled'] as const

export const PAYMENT_STATUSES = [
  'PENDING',
  'PAID',
  'FAILED',
  'PARTIALLY_REFUNDED',
  'REFUNDED',
] as const
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number]
export type CheckoutStatus = 'OPEN' | 'COMPLETE' | 'EXPIRED'
export type Anomaly = 'PAID_TWICE' | 'PAID_WITHOUT_INTENT' | 'REFUNDED_BEYOND_AMOUNT'

/** What the state machine needs of one checkout attempt. `sequence` counts the attempts of a payment. */
export type AttemptFacts = {
  sequence: number
  reference: string
  state: AttemptState
  sessionId: string | null
  paymentIntentId: string | null
}

export type RefundFacts = { paymentIntentId: string | null; amount: number; status: RefundStatus }

export type Derived = {
  status: PaymentStatus
  checkoutStatus: CheckoutStatus | null
  refundedAmount: number
  sessionId: string | null
  paymentIntentId: string | null
  attemptReference: string | null
  anomalies: Anomaly[]
}

export function joinAttemptState(known: AttemptState, observed: SessionState): SessionState {
  return known === 'reserved' ? observed : higher(SESSION_STATES, known, observed)
}

export function joinRefundStatus(known: RefundStatus, observed: RefundStatus): RefundStatus {
  return higher(REFUND_RANKS, known, observed)
}

function higher<T>(ranks: readonly T[], known: T, observed: T): T {
  return ranks.indexOf(observed) > ranks.indexOf(known) ? observed : known
}

export function derivePayment(
  amount: number,
  attempts: readonly AttemptFacts[],
  refunds: readonly RefundFacts[],
): Derived {
  const paid = paidOf(attempts)
  const settling = paid[0]
  if (!settling) return deriveUnpaid(attempts)

  const refunded = sumOf(refundsOf(settling, refunds), ({ status }) => status === 'succeeded')
  return {
    ...identityOf(settling),
    checkoutStatus: 'COMPLETE',
    status: settledStatus(amount, refunded),
    refundedAmount: Math.min(refunded, amount),
    anomalies: anomaliesOf(amount, refunded, paid),
  }
}

function deriveUnpaid(attempts: readonly AttemptFacts[]): Derived {
  const latest = latestOf(attempts)
  return {
    ...identityOf(latest),
    status: latest?.state === 'failed' ? 'FAILED' : 'PENDING',
    checkoutStatus: checkoutStatusOf(latest?.state),
    refundedAmount: 0,
    anomalies: [],
  }
}

function identityOf(attempt: AttemptFacts | undefined) {
  return {
    sessionId: attempt?.sessionId ?? null,
    paymentIntentId: attempt?.paymentIntentId ?? null,
    attemptReference: attempt?.reference ?? null,
  }
}

function settledStatus(amount: number, refunded: number): PaymentStatus {
  if (refunded === 0) return 'PAID'
  return refunded < amount ? 'PARTIALLY_REFUNDED' : 'REFUNDED'
}

function checkoutStatusOf(state: AttemptState | undefined): CheckoutStatus | null {
  if (state === undefined || state === 'reserved') return null
  if (state === 'open') return 'OPEN'
  return state === 'expired' ? 'EXPIRED' : 'COMPLETE'
}

function anomaliesOf(amount: number, refunded: number, paid: AttemptFacts[]): Anomaly[] {
  const anomalies: Anomaly[] = []
  if (paid.length > 1) anomalies.push('PAID_TWICE')
  if (paid[0]?.paymentIntentId === null) anomalies.push('PAID_WITHOUT_INTENT')
  if (refunded > amount) anomalies.push('REFUNDED_BEYOND_AMOUNT')
  return anomalies
}

type RecordFacts = {
  payment: { amount: number }
  attempts: readonly AttemptFacts[]
  refunds: readonly RefundFacts[]
  unresolved: readonly { amount: number }[]
}

/**
 * What may still be refunded; nothing before the payment is paid. Refunds in progress and refund attempts
 * with an unknown outcome reserve their amounts, so that two refunds can never promise the same money.
 */
export function refundableAmount(record: RecordFacts): number {
  const settling = paidOf(record.attempts)[0]
  if (!settling?.paymentIntentId) return 0
  const refunds = refundsOf(settling, record.refunds)
  const taken = sumOf(refunds, (refund) => refund.status === 'succeeded' || isUnderWay(refund))
  const reserved = record.unresolved.reduce((sum, attempt) => sum + attempt.amount, 0)
  return Math.max(0, record.payment.amount - taken - reserved)
}

/** By sequence: the first one settles the payment. */
function paidOf(attempts: readonly AttemptFacts[]): AttemptFacts[] {
  return attempts.filter(({ state }) => state === 'paid').sort(bySequence)
}

/** Only refunds of the settling intent count: refunding a second, surplus payment does not reduce it. */
function refundsOf(attempt: AttemptFacts | undefined, refunds: readonly RefundFacts[]) {
  const intent = attempt?.paymentIntentId
  return intent ? refunds.filter(({ paymentIntentId }) => paymentIntentId === intent) : []
}

export function isUnderWay({ status }: Pick<RefundFacts, 'status'>): boolean {
  return status === 'pending' || status === 'requires_action'
}

function sumOf(refunds: readonly RefundFacts[], counts: (refund: RefundFacts) => boolean): number {
  return refunds.filter(counts).reduce((sum, refund) => sum + refund.amount, 0)
}

export function latestOf<T extends { sequence: number }>(attempts: readonly T[]): T | undefined {
  return [...attempts].sort(bySequence).at(-1)
}

function bySequence(left: { sequence: number }, right: { sequence: number }): number {
  return left.sequence - right.sequence
}
