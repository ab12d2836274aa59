import { inTransaction, type PageRequest, pageOf } from '@plinth/kit'
import type { Refund } from '../provider/provider.ts'
import type { Payments } from './context.ts'
import type { Attempt } from './database/attempts.repository.ts'
import { listObservations } from './database/observations.repository.ts'
import { findPayment, listPayments, type Payment } from './database/payments.repository.ts'
import { paymentMissing } from './problems.ts'
import { type Ledger, openLedger } from './record.ts'
import { latestOf, refundableAmount } from './state.ts'

export { PAYMENT_SORTS } from './database/payments.repository.ts'

export async function requirePayment(payments: Payments, id: string): Promise<Payment> {
  const payment = await findPayment(payments.db, id)
  if (!payment) throw paymentMissing()
  return payment
}

export async function pageOfPayments(
  { db }: Payments,
  filter: { businessReference?: string },
  page: PageRequest,
) {
  if (matchesNothing(filter)) return pageOf([], 0, page)
  const { payments, total } = await listPayments(db, filter, page)
  const shown = payments.map((payment) => ({
    ...paymentReply(payment),
    anomalies: payment.anomalies,
  }))
  return pageOf(shown, total, page)
}

/** Nothing that is stored holds NUL, and PostgreSQL refuses to be asked for it. */
export function matchesNothing(filter: Record<string, string | undefined>): boolean {
  return Object.values(filter).some((value) => value?.includes('\u0000'))
}

/** The payment as the specification shows it. */
export function paymentReply(payment: Payment) {
  return {
    id: payment.id,
    businessReference: payment.businessReference,
    providerCustomerId: payment.providerCustomerId,
    providerCheckoutSessionId: payment.sessionId,
    providerPaymentIntentId: payment.paymentIntentId,
    checkoutAttemptReference: payment.attemptReference,
    checkoutStatus: payment.checkoutStatus,
    amount: payment.amount,
    refundedAmount: payment.refundedAmount,
    currency: payment.currency,
    status: payment.status,
    createdAt: payment.createdAt,
    updatedAt: payment.updatedAt,
  }
}

/** Everything that was seen of a payment, in order, and why its status is what it is. */
export async function readTimeline({ db }: Payments, paymentId: string) {
  return inTransaction(db, async (transaction) => {
    const ledger = await openLedger(transaction, paymentId)
    if (!ledger) throw paymentMissing()
    const { payment, attempts, refunds, unresolved } = ledger
    return {
      paymentId,
      status: payment.status,
      checkoutStatus: payment.checkoutStatus,
      explanation: explain(ledger),
      anomalies: payment.anomalies,
      refundableAmount: refundableAmount(payment.amount, attempts, refunds, unresolved),
      nextCheckAt: payment.nextCheckAt,
      attempts: attempts.map(shownAttempt),
      refunds: refunds.map(shownRefund),
      observations: await listObservations(transaction, paymentId),
    }
  })
}

function shownAttempt(attempt: Attempt) {
  const { sequence, reference, state, sessionId, paymentIntentId, expiresAt, url } = attempt
  return { sequence, reference, state, sessionId, paymentIntentId, expiresAt, url }
}

function shownRefund({ id, paymentIntentId, amount, status, reason }: Refund) {
  return { id, paymentIntentId, amount, status, reason }
}

function explain(ledger: Ledger): string {
  const { payment, attempts } = ledger
  const session = payment.sessionId ?? 'none'
  if (payment.checkoutStatus === 'COMPLETE' && payment.status !== 'PENDING')
    return payment.status === 'FAILED'
      ? `FAILED because the payment of session ${session} was refused. A new attempt may be made.`
      : explainSettled(ledger)
  switch (latestOf(attempts)?.state) {
    case 'open':
      return `PENDING because session ${session} is open and nobody has paid yet.`
    case 'expired':
      return `PENDING because session ${session} expired unpaid. A new attempt may be made.`
    case 'processing':
      return `PENDING because session ${session} is complete and the money is still on its way.`
    default:
      return 'PENDING because the provider has not confirmed a session yet; it is asked again.'
  }
}

function explainSettled({ payment, refunds, unresolved }: Ledger): string {
  const { status, sessionId, refundedAmount, amount, currency } = payment
  const given = refunds.filter((refund) => refund.status === 'succeeded')
  const waiting = refunds.filter((refund) => ['pending', 'requires_action'].includes(refund.status))
  const paid = `${status} because session ${sessionId} was paid`
  const back =
    given.length === 0
      ? ' and nothing was refunded'
      : ` and ${refundedAmount} of ${amount} ${currency} went back in ${counted(given.length)}`
  const open = waiting.length + unresolved.length
  return `${paid}${back}${open > 0 ? `; ${counted(open)} under way` : ''}.`
}

function counted(refunds: number): string {
  return refunds === 1 ? '1 refund' : `${refunds} refunds`
}
