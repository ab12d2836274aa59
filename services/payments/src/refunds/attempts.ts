import { inTransaction } from '@plinth/kit/database'
import { failPoint } from '@plinth/kit/runtime'
import type { Payments, Requester } from '../payment/context.ts'
import { findGeneration, raiseGeneration } from '../payment/database/generations.repository.ts'
import { insertAuditEvent } from '../payment/database/observations.repository.ts'
import {
  insertRefundAttempt,
  type RefundAttempt,
  updateToRefused,
} from '../payment/database/refunds.repository.ts'
import { lockRecord, type PaymentRecord } from '../payment/record.ts'
import { saveRecord } from '../payment/save.ts'
import type { NewRefund } from '../provider/provider.ts'
import { idempotencyKey } from '../provider/reserved-calls.ts'
import { contentHash, type RefundRequest } from './plan.ts'

/** Runs inside the caller's transaction, which holds the payment's lock. */
export async function reserveRefund(
  payments: Payments,
  record: PaymentRecord,
  {
    request,
    refund,
    requester,
  }: { request: RefundRequest; refund: NewRefund; requester: Requester },
): Promise<RefundAttempt> {
  const { db, clock } = payments
  const { id: paymentId } = record.payment
  const { reference } = request
  const now = clock()
  const at = now.toISOString()
  const generation = await findGeneration(db, paymentId)
  const attempt: RefundAttempt = {
    ...refund,
    paymentId,
    reference,
    contentHash: contentHash(request),
    state: 'reserved',
    generation,
    idempotencyKey: idempotencyKey('re1', paymentId, reference, generation),
    firstSentAt: at,
    refundId: null,
  }
  await insertRefundAttempt(db, attempt)
  const note = `${refund.amount} under ${reference}`
  const subject = `${note} of payment ${paymentId}`
  await insertAuditEvent(db, { at, event: 'REFUND_REQUESTED', subject, ...requester })
  const source = { source: 'request', kind: 'refund requested', at: now, note } as const
  const unresolved = [...record.unresolved, attempt]
  await saveRecord(payments, { ...record, unresolved }, source)
  return attempt
}

/**
 * Releases the money reserved for an attempt that certainly produced nothing. As for checkouts, only a spent
 * key is replaced.
 */
export async function withdrawRefund(
  payments: Payments,
  attempt: RefundAttempt,
  key: 'spent' | 'unused',
): Promise<void> {
  const { paymentId, reference } = attempt
  await inTransaction(payments.db, async (db) => {
    const record = await lockRecord(db, paymentId)
    if (!record || !(await updateToRefused(db, attempt))) return
    if (key === 'spent') await raiseGeneration(db, paymentId)
    const at = payments.clock()
    const source = { source: 'look-up', kind: 'refund refused', at, subject: reference } as const
    const unresolved = record.unresolved.filter((other) => other.reference !== reference)
    await saveRecord({ ...payments, db }, { ...record, unresolved }, source)
  })
  failPoint('refund:withdrawn')
}
