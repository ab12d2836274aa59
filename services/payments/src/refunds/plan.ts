import { isDeepStrictEqual } from 'node:util'
import type { RefundAttempt } from '../payment/database/refunds.repository.ts'
import { metadataOrNone } from '../payment/fields.ts'
import {
  intentMissing,
  paymentNotRefundable,
  refundBeyondBalance,
  refundReferenceReused,
} from '../payment/problems.ts'
import type { PaymentRecord } from '../payment/record.ts'
import { refundableAmount } from '../payment/state.ts'
import type { NewRefund, Refund } from '../provider/provider.ts'
import { hashOf } from '../provider/reserved-calls.ts'

export type RefundRequest = {
  amount: number | null
  reason: string | null
  reference: string
  metadata: Record<string, string>
}

/** The attempt to `resolve` is one whose outcome is unknown. */
export type RefundStep =
  | { step: 'show'; refundId: string }
  | { step: 'resolve'; attempt: RefundAttempt }
  | { step: 'reserve'; refund: NewRefund }

const REFUNDABLE = ['PAID', 'PARTIALLY_REFUNDED']

/**
 * Plans for a refund that has the reference of the request but no attempt here: it was made after the backup
 * that this database was restored from.
 */
export function planFoundRefund(
  record: PaymentRecord,
  request: RefundRequest,
  found: Refund,
): RefundStep {
  const { businessReference } = record.payment
  const { amount, reason } = request
  const metadata = metadataToSend(request, businessReference)
  const isSame =
    (amount ?? found.amount) === found.amount &&
    reason === found.reason &&
    isDeepStrictEqual(metadata, { ...found.metadata })
  if (!isSame) throw refundReferenceReused()
  requireRefundable(record, found.id)
  return { step: 'show', refundId: found.id }
}

/** Decides what a refund request means. `known` is the attempt under the same reference, if any. */
export function planRefund(
  record: PaymentRecord,
  request: RefundRequest,
  known: RefundAttempt | undefined,
): RefundStep {
  const standing = known?.state === 'refused' ? undefined : known
  if (standing && standing.contentHash !== contentHash(request)) throw refundReferenceReused()
  if (standing?.state === 'reserved') return { step: 'resolve', attempt: standing }
  const paymentIntentId = requireRefundable(record, standing?.refundId)
  if (standing?.refundId) return { step: 'show', refundId: standing.refundId }
  const refund = {
    paymentIntentId,
    amount: amountToRefund(record, request),
    reason: request.reason,
    metadata: metadataToSend(request, record.payment.businessReference),
  }
  return { step: 'reserve', refund }
}

function requireRefundable({ payment, refunds }: PaymentRecord, refundId?: string | null): string {
  if (!REFUNDABLE.includes(payment.status)) {
    const existing = refunds.find(({ id }) => id === refundId)
    if (!existing) throw paymentNotRefundable()
    const { id, status, amount } = existing
    throw paymentNotRefundable({ extra: { existingRefund: { id, status, amount } } })
  }
  if (payment.paymentIntentId === null) throw intentMissing()
  return payment.paymentIntentId
}

function amountToRefund(record: PaymentRecord, request: RefundRequest): number {
  const available = refundableAmount(record)
  const amount = request.amount ?? available
  if (amount <= 0 || amount > available)
    throw refundBeyondBalance({ extra: { refundableAmount: available } })
  return amount
}

function metadataToSend({ metadata, reference }: RefundRequest, businessReference: string) {
  return { ...metadataOrNone(metadata), businessReference, refundReference: reference }
}

/** Of the request as received: a hash that was stored by an earlier version must still match. */
export function contentHash({ amount, reason, metadata }: RefundRequest): string {
  const entries = Object.entries(metadata).sort(([left], [right]) => (left < right ? -1 : 1))
  return hashOf(JSON.stringify([amount, reason, entries]))
}
