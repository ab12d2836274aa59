import { inTransaction, isFirstWithin, type PageRequest } from '@plinth/kit/database'
import { pageOf } from '@plinth/kit/http'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import type { Payments, Requester } from '../context.ts'
import type { Attempt } from '../database/attempts.repository.ts'
import {
  insertAuditEvent,
  listAuditEvents,
  listObservations,
} from '../database/observations.repository.ts'
import {
  findShownPayment,
  listShownPayments,
  type PaymentFilter,
} from '../database/payments.repository.ts'
import { paymentMissing } from '../problems.ts'
import { type PaymentRecord, readRecord } from '../record.ts'
import { isUnderWay, latestOf, refundableAmount } from '../state.ts'

export { AUDIT_SORTS } from '../database/observations.repository.ts'
export { PAYMENT_SORTS } from '../database/payments.repository.ts'

export async function readPayment({ db }: Payments, id: string) {
  const shown = await findShownPayment(db, id)
  if (!shown) throw paymentMissing()
  return shown
}

export async function pageOfPayments({ db }: Payments, filter: PaymentFilter, page: PageRequest) {
  const { payments, total } = await listShownPayments(db, filter, page)
  return pageOf(payments, total, page)
}

/** Refunds, denied access and changes to service keys. */
export async function pageOfAudit({ db }: Payments, page: PageRequest) {
  const { events, total } = await listAuditEvents(db, page)
  return pageOf(events, total, page)
}

type Denial = Requester & { callerId: string; subject: string }

const DENIAL_SECONDS = 60

/** A denied caller can retry endlessly, so each gets at most one row a minute. */
export async function recordDenial(
  { db, clock }: Payments,
  { callerId, ...denied }: Denial,
): Promise<void> {
  const at = clock().toISOString()
  const name = `denied:${hashOpaqueToken(callerId)}`
  await inTransaction(db, async (transaction) => {
    if (await isFirstWithin(transaction, name, DENIAL_SECONDS))
      await insertAuditEvent(transaction, { at, event: 'ACCESS_DENIED', ...denied })
  })
}

/** Everything observed about a payment, in order, and the reason for its status. */
export async function readTimeline({ db }: Payments, paymentId: string) {
  const record = await readRecord(db, paymentId)
  if (!record) throw paymentMissing()
  const { payment, attempts, refunds } = record
  return {
    paymentId,
    status: payment.status,
    checkoutStatus: payment.checkoutStatus,
    explanation: explain(record),
    anomalies: payment.anomalies,
    refundableAmount: refundableAmount(record),
    nextCheckAt: payment.nextCheckAt,
    attempts: attempts.map(attemptReply),
    refunds,
    observations: await listObservations(db, paymentId),
  }
}

function attemptReply(attempt: Attempt) {
  const { sequence, reference, state, sessionId, paymentIntentId, expiresAt, url } = attempt
  return { sequence, reference, state, sessionId, paymentIntentId, expiresAt, url }
}

function explain(record: PaymentRecord): string {
  const { payment, attempts } = record
  const session = payment.sessionId ?? 'none'
  if (payment.checkoutStatus === 'COMPLETE' && payment.status !== 'PENDING')
    return payment.status === 'FAILED'
      ? `FAILED because the payment of session ${session} was refused. A new attempt may be made.`
      : explainSettled(record)
  switch (latestOf(attempts)?.state) {
    case 'open':
      return `PENDING because session ${session} is open and not paid yet.`
    case 'expired':
      return `PENDING because session ${session} expired unpaid. A new attempt may be made.`
    case 'processing':
      return `PENDING because session ${session} is complete and the money is still on its way.`
    default:
      return 'PENDING because the provider has not confirmed a session yet; it is asked again.'
  }
}

function explainSettled({ payment, refunds, unresolved }: PaymentRecord): string {
  const { status, sessionId, refundedAmount, amount, currency } = payment
  const done = refunds.filter((refund) => refund.status === 'succeeded').length
  const pending = refunds.filter(isUnderWay).length + unresolved.length
  const refunded =
    done === 0
      ? 'nothing was refunded'
      : `${refundedAmount} of ${amount} ${currency} went back in ${counted(done)}`
  const open = pending > 0 ? `; ${counted(pending)} under way` : ''
  return `${status} because session ${sessionId} was paid and ${refunded}${open}.`
}

function counted(refunds: number): string {
  return refunds === 1 ? '1 refund' : `${refunds} refunds`
}
