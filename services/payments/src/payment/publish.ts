import { insertEvent } from '@plinth/events'
import type { Refund, RefundStatus } from '../provider/provider.ts'
import type { Payment } from './database/payments.repository.ts'
import type { CountedRefund } from './database/refunds.repository.ts'
import type { Db } from './database/tables.ts'

type Change = { before: Payment; after: Payment; attempts: number }

/** Publishes the events of a change to a payment, in the transaction that makes the change. */
export async function publishPaymentChange(db: Db, change: Change, at: Date): Promise<void> {
  const { after } = change
  const data = {
    paymentId: after.id,
    businessReference: after.businessReference,
    status: after.status,
    checkoutStatus: after.checkoutStatus,
    amount: after.amount,
    refundedAmount: after.refundedAmount,
    currency: after.currency,
  }
  for (const type of typesOf(change)) await insertEvent(db, { type, subject: after.id, data, at })
}

function typesOf({ before, after, attempts }: Change): string[] {
  const isPaid = ({ status }: Payment) => status !== 'PENDING' && status !== 'FAILED'
  // Once an attempt is withdrawn, the previous one is shown again: its events were published before.
  const { attemptReference: shown } = before
  const isNews = shown === null || shown === after.attemptReference
  const types: string[] = []
  if (isNews && attempts === 1 && before.sessionId === null && after.sessionId !== null)
    types.push('payment.created')
  if (isPaid(after) && !isPaid(before)) types.push('payment.paid')
  if (isNews && after.status === 'FAILED' && before.status !== 'FAILED')
    types.push('payment.failed')
  if (isNews && after.checkoutStatus === 'EXPIRED' && before.checkoutStatus !== 'EXPIRED')
    types.push('payment.expired')
  return types
}

type RefundChange = {
  before: CountedRefund | undefined
  after: Refund
  paymentId: string | undefined
}

/** `paymentId` is undefined while no session that names the refund's intent has been seen. */
export async function publishRefundChange(
  db: Db,
  { before, after, paymentId }: RefundChange,
  at: Date,
): Promise<void> {
  const type = refundType(after.status)
  if (!type || (before && refundType(before.status) === type)) return
  const { id, amount, currency, status } = after
  const data = { refundId: id, paymentId: paymentId ?? null, amount, currency, status }
  await insertEvent(db, { type, subject: id, data, at })
}

function refundType(status: RefundStatus): string | undefined {
  if (status === 'succeeded') return 'refund.succeeded'
  return status === 'failed' || status === 'canceled' ? 'refund.failed' : undefined
}
