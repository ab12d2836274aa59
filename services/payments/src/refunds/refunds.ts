import { type Db, failPoint, inTransaction, secondsAfter } from '@plinth/kit'
import { type Payments, requireProvider, withPayment } from '../payment/context.ts'
import { findPaymentIdByIntent } from '../payment/database/attempts.repository.ts'
import { lockRefund } from '../payment/database/locks.repository.ts'
import {
  findRefund,
  findRefundIntent,
  insertRefundIntent,
  type RefundIntent,
  updateIntentState,
} from '../payment/database/refunds.repository.ts'
import type { PaymentTables } from '../payment/database/tables.ts'
import { observeRefund, recordReply } from '../payment/observe.ts'
import { requirePayment } from '../payment/payments.ts'
import {
  InconsistentObservation,
  paymentMissing,
  refundBeyondBalance,
} from '../payment/problems.ts'
import { type Ledger, openLedger, settleLedger } from '../payment/record.ts'
import { refundableAmount } from '../payment/state.ts'
import { isRemembered, provenRefused, refusedForGood } from '../provider/failures.ts'
import { KEY_LIFETIME_SECONDS } from '../provider/idempotency-keys.ts'
import { mustExist, providerInconsistent, providerResourceMissing } from '../provider/problems.ts'
import type { Refund } from '../provider/provider.ts'
import { planRefund, type RefundRequest, type RefundStep } from './plan.ts'

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

/** Sends an intent that was reserved in this request, and records the refund. */
async function sendIntent(payments: Payments, intent: RefundIntent): Promise<Refund> {
  try {
    return await create(payments, intent)
  } catch (error) {
    if (provenRefused(error)) await releaseIntent(payments, intent)
    throw blamed(error)
  }
}

/**
 * Finds out what became of an intent whose outcome is unknown: first by looking at the intent's
 * refunds, then by sending it again under the same key. A key that the provider may have forgotten
 * is never sent again; if there is no refund then, none was made. Undefined when there is none.
 */
export async function resolveIntent(
  payments: Payments,
  intent: RefundIntent,
): Promise<Refund | undefined> {
  const forgotten = secondsAfter(new Date(intent.firstSentAt), KEY_LIFETIME_SECONDS)
  const fresh = payments.clock() < forgotten
  const found = await searchRefund(payments, intent).catch((error) => {
    // While the key is fresh, sending again is safe without a look.
    if (!fresh || !refusedForGood(error)) throw blamed(error)
  })
  if (found) return found
  if (!fresh) {
    await releaseIntent(payments, intent)
    return undefined
  }
  try {
    return await create(payments, intent)
  } catch (error) {
    if (!refusedForGood(error) && !isRemembered(error)) throw error
    const late = await searchRefund(payments, intent).catch((reason) => {
      // Only a refusal proves by itself that there is nothing to find.
      if (!refusedForGood(error) || !refusedForGood(reason)) throw blamed(error)
    })
    if (late) return late
    await releaseIntent(payments, intent)
    return undefined
  }
}

async function create(payments: Payments, intent: RefundIntent): Promise<Refund> {
  failPoint('refund:reserved')
  const refund = await requireProvider(payments).createRefund(intent, intent.idempotencyKey)
  failPoint('refund:after-provider-call')
  await recordRefund(payments, intent, refund)
  failPoint('refund:recorded')
  return refund
}

/** The only thing a refund can fail to find is the payment intent we stored: no fault of a caller. */
function blamed(error: unknown): unknown {
  return providerResourceMissing.is(error) ? providerInconsistent({ cause: error }) : error
}

async function searchRefund(
  payments: Payments,
  { paymentIntentId, reference }: RefundIntent,
): Promise<Refund | undefined> {
  const refunds = await requireProvider(payments).listRefunds(paymentIntentId)
  await recordRefunds(payments, refunds)
  return refunds.find(({ metadata }) => metadata.refundReference === reference)
}

/** Joins a refund that we asked for to the payment it belongs to. */
async function recordRefund(
  { db, clock }: Payments,
  intent: RefundIntent,
  refund: Refund,
): Promise<void> {
  const about = {
    source: 'reply',
    kind: 'refund created',
    at: clock(),
    subject: refund.id,
  } as const
  await recordReply(db, about, async (transaction) => {
    await refuseTakenRefund(transaction, intent, refund)
    await observeRefund(transaction, refund, about)
  })
}

/** A provider that gives one refund to two payments has given back the money of one of them. */
async function refuseTakenRefund(
  db: Db<PaymentTables>,
  { paymentId, paymentIntentId }: RefundIntent,
  { id }: Refund,
): Promise<void> {
  await lockRefund(db, id)
  const owner = (await findRefund(db, id))?.paymentIntentId
  if (!owner || owner === paymentIntentId) return
  const message = `Refund ${id} is another payment's already.`
  throw new InconsistentObservation('REFUND_USED_ELSEWHERE', paymentId, message)
}

/** Records what the provider says about refunds, all of it in one transaction. */
export async function recordRefunds({ db, clock }: Payments, refunds: Refund[]): Promise<void> {
  const about = { source: 'look-up', kind: 'refund looked up', at: clock() } as const
  await inTransaction(db, async (transaction) => {
    for (const refund of refunds) await observeRefund(transaction, refund, about)
  })
}

/** Gives back the money reserved for an intent that certainly produced nothing. */
async function releaseIntent({ db, clock }: Payments, intent: RefundIntent): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const ledger = await openLedger(transaction, intent.paymentId)
    const refused = { state: 'refused', refundId: null } as const
    if (!ledger || !(await updateIntentState(transaction, intent, refused))) return
    const about = { source: 'look-up', kind: 'refund refused', at: clock() } as const
    await settleLedger(transaction, ledger, { ...about, subject: intent.reference })
  })
  failPoint('refund:released')
}
