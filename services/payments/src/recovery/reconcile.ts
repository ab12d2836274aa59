import { inTransaction } from '@plinth/kit/database'
import { HOUR_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { lookUpAttempt, resolveAttempt } from '../checkout/checkout.ts'
import {
  type Payments,
  requireProvider,
  tryPaymentLock,
  withPaymentLock,
} from '../payment/context.ts'
import { listPaymentsToCheck, updateNextCheck } from '../payment/database/payments.repository.ts'
import { isUnfinished, lockRecord, readRecord, requirePayment } from '../payment/record.ts'
import { latestOf } from '../payment/state.ts'
import { providerUnavailable } from '../provider/problems.ts'
import { reconcileRefunds, resolveRefundAttempt } from '../refunds/refunds.ts'

const BATCH = 50
const CONCURRENCY = 4
/** How long to wait after each check that left something unresolved. */
const DELAYS_SECONDS = [300, 900, HOUR_SECONDS, 3 * HOUR_SECONDS, 6 * HOUR_SECONDS]

/**
 * Recovery and reconciliation are the same thing: the provider is asked about payments that are still
 * waiting for an answer, so a crash, a lost reply and a lost webhook are all repaired the same way.
 * During an outage each call takes long to fail, so the first failure ends the round.
 */
export async function reconcileDue(payments: Payments, signal: AbortSignal): Promise<void> {
  if (!payments.provider.calls) return
  const due = await listPaymentsToCheck(payments.db, payments.clock(), BATCH)
  let isReachable = true
  const work = async () => {
    while (isReachable && !signal.aborted) {
      const id = due.shift()
      if (id === undefined) return
      const turn = await tryPaymentLock(payments, id, () => reconcilePayment(payments, id))
      if (turn && providerUnavailable.is(turn.result)) isReachable = false
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
}

/** Asks the provider at an operator's request, even about a payment that is not due. */
export async function checkPayment(payments: Payments, id: string): Promise<void> {
  requireProvider(payments)
  await requirePayment(payments.db, id)
  const failure = await withPaymentLock(payments, id, () => reconcilePayment(payments, id))
  if (failure) throw failure
}

/** Resolves to the failure, if there was one: the next check is scheduled in any case. */
async function reconcilePayment(payments: Payments, paymentId: string): Promise<unknown> {
  const startedAt = payments.clock().toISOString()
  let failure: unknown
  try {
    await reconcileAttempt(payments, paymentId)
    await reconcileRefundsOf(payments, paymentId)
  } catch (error) {
    failure = error
    payments.log.warn({ err: error, paymentId }, 'a payment could not be reconciled')
  }
  await scheduleCheck(payments, paymentId, startedAt)
  return failure
}

async function reconcileAttempt(payments: Payments, paymentId: string): Promise<unknown> {
  const record = await readRecord(payments.db, paymentId)
  const latest = latestOf(record?.attempts ?? [])
  switch (latest?.state) {
    case 'reserved':
      return resolveAttempt(payments, latest)
    case 'open':
    case 'processing':
      return lookUpAttempt(payments, latest)
  }
}

async function reconcileRefundsOf(payments: Payments, paymentId: string): Promise<void> {
  const record = await readRecord(payments.db, paymentId)
  if (!record) return
  for (const attempt of record.unresolved) await resolveRefundAttempt(payments, attempt)
  const { paymentIntentId, checkoutStatus } = record.payment
  if (paymentIntentId && checkoutStatus === 'COMPLETE')
    await reconcileRefunds(payments, paymentIntentId)
}

async function scheduleCheck(
  { db, clock }: Payments,
  paymentId: string,
  startedAt: string,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const record = await lockRecord(transaction, paymentId)
    if (!record) return
    const { checks, nextCheckAt: due } = record.payment
    const now = clock()
    // A hint that arrived meanwhile has requested another check.
    if (due !== null && due > startedAt && due <= now.toISOString()) return
    const delay = DELAYS_SECONDS[Math.min(checks, DELAYS_SECONDS.length - 1)] ?? 0
    const next = isUnfinished(record.payment, record)
      ? { nextCheckAt: secondsAfter(now, delay), checks: checks + 1 }
      : { nextCheckAt: null, checks: 0 }
    await updateNextCheck(transaction, paymentId, next)
  })
}
