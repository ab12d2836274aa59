import type { RefundIntent } from '../payment/database/refunds.repository.ts'
import {
  intentMissing,
  paymentNotRefundable,
  refundBeyondBalance,
  refundReferenceReused,
} from '../payment/problems.ts'
import type { Ledger } from '../payment/record.ts'
import { refundableAmount } from '../payment/state.ts'
import { hashOf, refundKey } from '../provider/idempotency-keys.ts'
import type { Refund } from '../provider/provider.ts'

export type RefundRequest = {
  amount: number | null
  reason: string | null
  reference: string
  metadata: Record<string, string>
}

export type RefundStep =
  | { step: 'show'; refundId: string }
  | { step: 'resolve' | 'reserve'; intent: RefundIntent }

const REFUNDABLE = ['PAID', 'PARTIALLY_REFUNDED']

/** Decides what a refund request means. `known` is the intent under the same reference, if any. */
export function planRefund(
  ledger: Ledger,
  request: RefundRequest,
  known: RefundIntent | undefined,
  now: Date,
): RefundStep {
  const standing = known?.state === 'refused' ? undefined : known
  if (standing && standing.contentHash !== contentHash(request)) throw refundReferenceReused()
  if (standing?.state === 'reserved') return { step: 'resolve', intent: standing }
  refuseUnrefundable(ledger, standing)
  if (standing?.refundId) return { step: 'show', refundId: standing.refundId }
  return { step: 'reserve', intent: newIntent(ledger, request, known, now) }
}

function refuseUnrefundable({ payment, refunds }: Ledger, standing?: RefundIntent): void {
  if (!REFUNDABLE.includes(payment.status)) {
    const existing = refunds.find(({ id }) => id === standing?.refundId)
    throw paymentNotRefundable(existing && { extra: { existingRefund: summary(existing) } })
  }
  if (payment.paymentIntentId === null) throw intentMissing()
}

function summary({ id, status, amount }: Refund) {
  return { id, status, amount }
}

function newIntent(
  { payment, attempts, refunds, unresolved }: Ledger,
  request: RefundRequest,
  refused: RefundIntent | undefined,
  now: Date,
): RefundIntent {
  const { reference, reason } = request
  const available = refundableAmount(payment.amount, attempts, refunds, unresolved)
  const amount = request.amount ?? available
  if (amount <= 0 || amount > available)
    throw refundBeyondBalance({ extra: { refundableAmount: available } })
  const generation = refused ? refused.generation + 1 : 0
  return {
    paymentId: payment.id,
    reference,
    contentHash: contentHash(request),
    paymentIntentId: payment.paymentIntentId ?? '',
    amount,
    reason,
    metadata: {
      ...request.metadata,
      businessReference: payment.businessReference,
      refundReference: reference,
    },
    state: 'reserved',
    generation,
    idempotencyKey: refundKey(payment.id, reference, generation),
    firstSentAt: now.toISOString(),
    refundId: null,
  }
}

function contentHash({ amount, reason, metadata }: RefundRequest): string {
  const entries = Object.entries(metadata).sort(([left], [right]) => (left < right ? -1 : 1))
  return hashOf(JSON.stringify([amount, reason, entries]))
}
