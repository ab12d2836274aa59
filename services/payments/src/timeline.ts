import { inTransaction } from '@plinth/kit'
import type { Attempt } from './attempts.repository.ts'
import { type Ledger, openLedger } from './ledger.ts'
import { listObservations } from './observations.repository.ts'
import { latestOf, refundableAmount } from './payment-state.ts'
import type { Payments } from './payments.ts'
import { paymentMissing } from './problems.ts'
import type { Refund } from './provider/provider.ts'

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
