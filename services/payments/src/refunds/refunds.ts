import { inTransaction } from '@plinth/kit/database'
import { failPoint } from '@plinth/kit/runtime'
import {
  type Payments,
  type Requester,
  requireProvider,
  withPaymentLock,
} from '../payment/context.ts'
import { findPaymentIdByIntent } from '../payment/database/attempts.repository.ts'
import { lockName } from '../payment/database/locks.repository.ts'
import { insertAuditEvent } from '../payment/database/observations.repository.ts'
import {
  findRefund,
  findRefundAttempt,
  findRefundByReference,
  insertRefundAttempt,
  type RefundAttempt,
  updateRefundAttempt,
} from '../payment/database/refunds.repository.ts'
import { observeRefund, recordReply } from '../payment/observe.ts'
import {
  InconsistentObservation,
  paymentMissing,
  refundBeyondBalance,
} from '../payment/problems.ts'
import { lockRecord, type PaymentRecord, readRecord, requirePayment } from '../payment/record.ts'
import { saveRecord } from '../payment/save.ts'
import { refundableAmount } from '../payment/state.ts'
import { certaintyOf } from '../provider/failures.ts'
import { asOneOperation } from '../provider/operation-time.ts'
import { missingIsInconsistent, mustExist } from '../provider/problems.ts'
import type { Refund } from '../provider/provider.ts'
import { type Operation, resolveReserved, sendReserved } from '../provider/reserved-calls.ts'
import { planFoundRefund, planRefund, type RefundRequest, type RefundStep } from './plan.ts'

type RefundReply = Refund & { paymentId: string | null }

export async function refundPayment(
  payments: Payments,
  paymentId: string,
  request: RefundRequest,
  requester: Requester,
): Promise<RefundReply> {
  requireProvider(payments)
  const { currency } = await requirePayment(payments.db, paymentId)
  const key = JSON.stringify(['refund', paymentId, request])
  const refund = await payments.singleFlight(key, () =>
    withPaymentLock(payments, paymentId, () =>
      asOneOperation(() => makeRefund(payments, paymentId, request, requester)),
    ),
  )
  return refundReply({ ...refund, currency: refund.currency || currency }, paymentId)
}

/** The provider's current view; linked to a payment only when a refund record here ties it to one. */
export async function readRefund(payments: Payments, refundId: string): Promise<RefundReply> {
  const refund = await requireProvider(payments).findRefund(refundId)
  const known = await findRefund(payments.db, refund.id)
  if (!known?.paymentIntentId) return refundReply(refund, null)
  await recordRefunds(payments, [refund])
  const paymentId = await findPaymentIdByIntent(payments.db, known.paymentIntentId)
  return refundReply(refund, paymentId ?? null)
}

function refundReply({ id, ...refund }: Refund, paymentId: string | null): RefundReply {
  return { id, paymentId, ...refund }
}

async function makeRefund(
  payments: Payments,
  paymentId: string,
  request: RefundRequest,
  requester: Requester,
): Promise<Refund> {
  const next = await nextStep(payments, paymentId, request, requester)
  switch (next.step) {
    case 'show': {
      // A known refund is shown as the provider sees it now.
      const refund = await mustExist(requireProvider(payments).findRefund(next.refundId))
      await recordRefunds(payments, [refund])
      return refund
    }
    case 'send':
      return sendOrExplain(payments, next.attempt)
    case 'resolve': {
      const refund = await resolveRefundAttempt(payments, next.attempt)
      return refund ?? makeRefund(payments, paymentId, request, requester)
    }
  }
}

/** Decides under the payment's lock; a new attempt is committed before the provider is called. */
function nextStep(
  { db, clock, countStatus }: Payments,
  paymentId: string,
  request: RefundRequest,
  requester: Requester,
): Promise<RefundStep> {
  const now = clock()
  return inTransaction(db, async (transaction) => {
    const record = await lockRecord(transaction, paymentId)
    if (!record) throw paymentMissing()
    const known = await findRefundAttempt(transaction, paymentId, request.reference)
    const { paymentIntentId: intent } = record.payment
    const found =
      known || !intent
        ? undefined
        : await findRefundByReference(transaction, intent, request.reference)
    if (found) return planFoundRefund(record, request, found)
    const plan = planRefund(record, request, known, now)
    if (plan.step !== 'send') return plan
    await insertRefundAttempt(transaction, plan.attempt)
    const { reference, amount } = plan.attempt
    const note = `${amount} under ${reference}`
    const subject = `${note} of payment ${paymentId}`
    const at = now.toISOString()
    await insertAuditEvent(transaction, { at, event: 'REFUND_REQUESTED', subject, ...requester })
    const source = { source: 'request', kind: 'refund requested', at: now, note } as const
    const unresolved = [...record.unresolved, plan.attempt]
    await saveRecord({ db: transaction, countStatus }, { ...record, unresolved }, source)
    return plan
  })
}

/** A refusal may mean that money was refunded elsewhere, so the refunds are read before answering. */
async function sendOrExplain(payments: Payments, attempt: RefundAttempt): Promise<Refund> {
  try {
    return await sendReserved(refundOperation(payments), attempt)
  } catch (error) {
    if (!certaintyOf(error).isFinal) throw error
    const record = await refreshedRecord(payments, attempt).catch(() => undefined)
    if (!record || attempt.amount <= refundableAmount(record)) throw error
    throw refundBeyondBalance({
      cause: error,
      extra: { refundableAmount: refundableAmount(record) },
    })
  }
}

async function refreshedRecord(
  payments: Payments,
  { paymentId, paymentIntentId }: RefundAttempt,
): Promise<PaymentRecord | undefined> {
  await reconcileRefunds(payments, paymentIntentId)
  return readRecord(payments.db, paymentId)
}

/** Resolves an attempt with an unknown outcome; undefined when there is no refund. */
export function resolveRefundAttempt(
  payments: Payments,
  attempt: RefundAttempt,
): Promise<Refund | undefined> {
  return resolveReserved(refundOperation(payments), attempt)
}

function refundOperation(payments: Payments): Operation<RefundAttempt, Refund> {
  const { clock } = payments
  return {
    name: 'refund',
    clock,
    create: (attempt) => requireProvider(payments).createRefund(attempt, attempt.idempotencyKey),
    record: (attempt, refund) => recordRefund(payments, attempt, refund),
    search: (attempt) => searchRefund(payments, attempt),
    searchesFirst: true,
    withdraw: (attempt) => withdrawRefund(payments, attempt),
    // The only thing a refund can fail to find is the payment intent we stored, which the caller did not name.
    attributeFailure: missingIsInconsistent,
  }
}

async function searchRefund(
  payments: Payments,
  { paymentIntentId, reference }: RefundAttempt,
): Promise<Refund | undefined> {
  const refunds = await reconcileRefunds(payments, paymentIntentId)
  return refunds.find(({ metadata }) => metadata.refundReference === reference)
}

export async function reconcileRefunds(payments: Payments, intentId: string): Promise<Refund[]> {
  const refunds = await requireProvider(payments).listRefunds(intentId)
  await recordRefunds(payments, refunds)
  return refunds
}

async function recordRefunds(payments: Payments, refunds: Refund[]): Promise<void> {
  const { db, clock } = payments
  const source = { source: 'look-up', kind: 'refund looked up', at: clock() } as const
  await inTransaction(db, async (transaction) => {
    const recording = { ...payments, db: transaction }
    for (const refund of refunds) await observeRefund(recording, refund, source)
  })
}

/** Joins a refund that we requested to its payment. */
async function recordRefund(
  payments: Payments,
  { paymentId, paymentIntentId }: RefundAttempt,
  refund: Refund,
): Promise<void> {
  const { id } = refund
  const source = {
    source: 'reply',
    kind: 'refund created',
    at: payments.clock(),
    subject: id,
  } as const
  await recordReply(payments, source, async (recording) => {
    const { db } = recording
    await lockName(db, 'refund', id)
    const owner = (await findRefund(db, id))?.paymentIntentId
    // If the provider gave one refund to two payments, only one of them was actually refunded.
    if (owner && owner !== paymentIntentId)
      throw new InconsistentObservation(
        'REFUND_USED_ELSEWHERE',
        paymentId,
        `Refund ${id} already belongs to another payment.`,
      )
    await observeRefund(recording, refund, source)
  })
}

/** Releases the money reserved for an attempt that certainly produced nothing. */
async function withdrawRefund(payments: Payments, attempt: RefundAttempt): Promise<void> {
  const { db, clock } = payments
  await inTransaction(db, async (transaction) => {
    const record = await lockRecord(transaction, attempt.paymentId)
    const refused = { state: 'refused', refundId: null } as const
    if (!record || !(await updateRefundAttempt(transaction, attempt, refused))) return
    const source = { source: 'look-up', kind: 'refund refused', at: clock() } as const
    const { reference } = attempt
    const unresolved = record.unresolved.filter((other) => other.reference !== reference)
    const recording = { ...payments, db: transaction }
    await saveRecord(recording, { ...record, unresolved }, { ...source, subject: reference })
  })
  failPoint('refund:withdrawn')
}
