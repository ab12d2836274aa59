import { type Db, inTransaction } from '@plinth/kit'
import { findPaymentIdByIntent } from './attempts.repository.ts'
import { type Ledger, openLedger, settleLedger } from './ledger.ts'
import { refundableAmount } from './payment-state.ts'
import { type Payments, requirePayment, requireProvider, withPayment } from './payments.ts'
import { paymentMissing, refundBeyondBalance } from './problems.ts'
import { refusedForGood } from './provider/outcomes.ts'
import { mustExist } from './provider/problems.ts'
import type { Refund } from './provider/provider.ts'
import {
  findRefundIntent,
  insertRefundIntent,
  type RefundIntent,
} from './refund-intents.repository.ts'
import { resolveIntent, sendIntent } from './refund-intents.ts'
import { recordRefunds } from './refund-outcomes.ts'
import { planRefund, type RefundRequest, type RefundStep } from './refund-plan.ts'
import { findRefund } from './refunds.repository.ts'
import type { PaymentTables } from './tables.ts'

export type RefundReply = Refund & { paymentId: string | null }

export async function refundPayment(
  payments: Payments,
  paymentId: string,
  request: RefundRequest,
): Promise<RefundReply> {
  requireProvider(payments)
  const { currency } = await requirePayment(payments, paymentId)
  const key = JSON.stringify(['refund', paymentId, request])
  const refund = await payments.sharing(key, () =>
    withPayment(payments, paymentId, () => makeRefund(payments, paymentId, request)),
  )
  return { ...refund, paymentId, currency: refund.currency || currency }
}

async function makeRefund(
  payments: Payments,
  paymentId: string,
  request: RefundRequest,
): Promise<Refund> {
  const next = await nextStep(payments, paymentId, request)
  if (next.step === 'show') return refreshRefund(payments, next.refundId)
  if (next.step === 'reserve') return sendOrExplain(payments, next.intent)
  return (await resolveIntent(payments, next.intent)) ?? makeRefund(payments, paymentId, request)
}

/** A refusal may mean that money moved behind our back: the books are compared before answering. */
async function sendOrExplain(payments: Payments, intent: RefundIntent): Promise<Refund> {
  try {
    return await sendIntent(payments, intent)
  } catch (error) {
    if (!refusedForGood(error)) throw error
    const ledger = await reconcileRefunds(payments, intent).catch(() => {
      throw error
    })
    const { payment, attempts, refunds, unresolved } = ledger
    const available = refundableAmount(payment.amount, attempts, refunds, unresolved)
    if (intent.amount <= available) throw error
    throw refundBeyondBalance({ cause: error, extra: { refundableAmount: available } })
  }
}

async function reconcileRefunds(payments: Payments, intent: RefundIntent): Promise<Ledger> {
  const refunds = await requireProvider(payments).listRefunds(intent.paymentIntentId)
  await recordRefunds(payments, refunds)
  return inTransaction(payments.db, (db) => requireLedger(db, intent.paymentId))
}

/** What is known is shown as the provider sees it now. */
async function refreshRefund(payments: Payments, refundId: string): Promise<Refund> {
  const refund = await mustExist(requireProvider(payments).findRefund(refundId))
  await recordRefunds(payments, [refund])
  return refund
}

/** The provider's present view; linked to a payment only when a refund record here ties it to one. */
export async function readRefund(payments: Payments, refundId: string): Promise<RefundReply> {
  const refund = await requireProvider(payments).findRefund(refundId)
  const known = await findRefund(payments.db, refund.id)
  if (!known?.paymentIntentId) return { ...refund, paymentId: null }
  await recordRefunds(payments, [refund])
  const paymentId = await findPaymentIdByIntent(payments.db, known.paymentIntentId)
  return { ...refund, paymentId: paymentId ?? null }
}

/** Decides under the payment's lock; a new intent is written down before the provider hears of it. */
function nextStep(
  { db, clock }: Payments,
  paymentId: string,
  request: RefundRequest,
): Promise<RefundStep> {
  const now = clock()
  return inTransaction(db, async (transaction) => {
    const ledger = await requireLedger(transaction, paymentId)
    const known = await findRefundIntent(transaction, paymentId, request.reference)
    const plan = planRefund(ledger, request, known, now)
    if (plan.step !== 'reserve') return plan
    await insertRefundIntent(transaction, plan.intent)
    const about = { source: 'request', kind: 'refund requested', at: now } as const
    const { reference, amount } = plan.intent
    await settleLedger(transaction, ledger, { ...about, note: `${amount} under ${reference}` })
    return plan
  })
}

async function requireLedger(db: Db<PaymentTables>, paymentId: string): Promise<Ledger> {
  const ledger = await openLedger(db, paymentId)
  if (!ledger) throw paymentMissing()
  return ledger
}
