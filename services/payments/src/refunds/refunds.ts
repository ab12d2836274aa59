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
import {
  findRefund,
  findRefundAttempt,
  findRefundByReference,
  type RefundAttempt,
} from '../payment/database/refunds.repository.ts'
import { lockRefund, observeRefund } from '../payment/observe-refund.ts'
import {
  InconsistentObservation,
  paymentMissing,
  refundBeyondBalance,
} from '../payment/problems.ts'
import { lockRecord, type PaymentRecord, readRecord, requirePayment } from '../payment/record.ts'
import { recordReply } from '../payment/record-reply.ts'
import { refundableAmount } from '../payment/state.ts'
import { certaintyOf } from '../provider/failures.ts'
import { asOneOperation } from '../provider/operation-time.ts'
import { missingIsInconsistent, mustExist } from '../provider/problems.ts'
import type { Refund } from '../provider/provider.ts'
import {
  type Creation,
  type Outcome,
  resolveReserved,
  sendReserved,
} from '../provider/reserved-calls.ts'
import { reserveRefund, withdrawRefund } from './attempts.ts'
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
      return sendRefund(payments, next.attempt)
    case 'resolve': {
      const refund = await resolveRefundAttempt(payments, next.attempt)
      return refund ?? makeRefund(payments, paymentId, request, requester)
    }
  }
}

type NextStep = Exclude<RefundStep, { step: 'reserve' }> | { step: 'send'; attempt: RefundAttempt }

/** Decides under the payment's lock; a new attempt is committed before the provider is called. */
function nextStep(
  payments: Payments,
  paymentId: string,
  request: RefundRequest,
  requester: Requester,
): Promise<NextStep> {
  return inTransaction(payments.db, async (db) => {
    const record = await lockRecord(db, paymentId)
    if (!record) throw paymentMissing()
    const { reference } = request
    const { paymentIntentId: intent } = record.payment
    const known = await findRefundAttempt(db, paymentId, reference)
    const found = known || !intent ? undefined : await findRefundByReference(db, intent, reference)
    const plan = found
      ? planFoundRefund(record, request, found)
      : planRefund(record, request, known)
    if (plan.step !== 'reserve') return plan
    const { refund } = plan
    const attempt = await reserveRefund({ ...payments, db }, record, { request, refund, requester })
    return { step: 'send', attempt }
  })
}

async function sendRefund(payments: Payments, attempt: RefundAttempt): Promise<Refund> {
  const outcome = await sendReserved(refundCreation(payments), attempt)
  await settle(payments, attempt, outcome)
  if (outcome.kind === 'nothing') throw await explained(payments, attempt, outcome.error)
  return outcome.object
}

/** A refusal may mean that money was refunded elsewhere, so the refunds are read before answering. */
async function explained(
  payments: Payments,
  attempt: RefundAttempt,
  refusal: unknown,
): Promise<unknown> {
  // The only thing a refund can fail to find is the payment intent we stored, which the caller did not name.
  const error = missingIsInconsistent(refusal)
  if (!certaintyOf(error).isFinal) return error
  const record = await refreshedRecord(payments, attempt).catch((err) => {
    const { paymentId } = attempt
    payments.log.warn({ err, paymentId }, 'the refunds could not be read after a refusal')
    return undefined
  })
  if (!record || attempt.amount <= refundableAmount(record)) return error
  return refundBeyondBalance({
    cause: error,
    extra: { refundableAmount: refundableAmount(record) },
  })
}

async function refreshedRecord(
  payments: Payments,
  { paymentId, paymentIntentId }: RefundAttempt,
): Promise<PaymentRecord | undefined> {
  await reconcileRefunds(payments, paymentIntentId)
  return readRecord(payments.db, paymentId)
}

/** Resolves an attempt with an unknown outcome; undefined when there is no refund. */
export async function resolveRefundAttempt(
  payments: Payments,
  attempt: RefundAttempt,
): Promise<Refund | undefined> {
  const outcome = await resolveReserved(refundCreation(payments), attempt, payments.clock())
  await settle(payments, attempt, outcome)
  return outcome.kind === 'nothing' ? undefined : outcome.object
}

function refundCreation(payments: Payments): Creation<RefundAttempt, Refund> {
  return {
    name: 'refund',
    create: (attempt) => requireProvider(payments).createRefund(attempt, attempt.idempotencyKey),
    search: (attempt) => searchRefund(payments, attempt),
    searchesFirst: true,
  }
}

/** Records the outcome of a call. The search has recorded every refund that it saw. */
async function settle(
  payments: Payments,
  attempt: RefundAttempt,
  outcome: Outcome<Refund>,
): Promise<void> {
  if (outcome.kind === 'nothing') return withdrawRefund(payments, attempt, outcome.key)
  if (outcome.kind === 'made') await recordRefund(payments, attempt, outcome.object)
  failPoint('refund:recorded')
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
    for (const refund of refunds) {
      const locked = await lockRefund(transaction, refund, null)
      await observeRefund(recording, locked, refund, source)
    }
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
    await observeRefund(recording, await lockRefund(db, refund, null), refund, source)
  })
}
