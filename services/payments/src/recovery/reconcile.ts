import { inTransaction, secondsAfter } from '@plinth/kit'
import { lookUpAttempt, resolveAttempt } from '../checkout/checkout.ts'
import { type Payments, requireProvider, tryPayment } from '../payment/context.ts'
import { listPaymentsToCheck, updateNextCheck } from '../payment/database/payments.repository.ts'
import { type Ledger, openLedger, unfinished } from '../payment/record.ts'
import { latestOf } from '../payment/state.ts'
import { recordRefunds, resolveIntent } from '../refunds/refunds.ts'

const BATCH = 50

/** How long to wait after each look that left something open. */
const DELAYS_SECONDS = [300, 900, 3600, 3 * 3600, 6 * 3600]

/**
 * Recovery and reconciliation are one thing: payments that still wait for an answer are looked at
 * again, so that a crash, a lost reply and a lost webhook all heal the same way.
 */
export async function lookAtDuePayments(payments: Payments, signal: AbortSignal): Promise<void> {
  if (!payments.provider) return
  for (const id of await listPaymentsToCheck(payments.db, payments.clock(), BATCH)) {
    if (signal.aborted) return
    await tryPayment(payments, id, () => lookAgain(payments, id))
  }
}

async function lookAgain(payments: Payments, paymentId: string): Promise<void> {
  const startedAt = payments.clock().toISOString()
  try {
    await lookAtAttempt(payments, paymentId)
    await lookAtRefunds(payments, paymentId)
  } catch (error) {
    payments.log.warn({ err: error, paymentId }, 'a payment could not be looked at')
  }
  await scheduleNext(payments, paymentId, startedAt)
}

async function lookAtAttempt(payments: Payments, paymentId: string): Promise<void> {
  const ledger = await read(payments, paymentId)
  const latest = latestOf(ledger?.attempts ?? [])
  if (latest?.state === 'reserved') return resolveAttempt(payments, latest)
  if (latest?.state === 'open' || latest?.state === 'processing')
    return lookUpAttempt(payments, latest)
}

async function lookAtRefunds(payments: Payments, paymentId: string): Promise<void> {
  const ledger = await read(payments, paymentId)
  for (const intent of ledger?.unresolved ?? []) await resolveIntent(payments, intent)
  const paymentIntentId = ledger?.payment.paymentIntentId
  if (!paymentIntentId || ledger.payment.checkoutStatus !== 'COMPLETE') return
  const refunds = await requireProvider(payments).listRefunds(paymentIntentId)
  await recordRefunds(payments, refunds)
}

async function scheduleNext(
  payments: Payments,
  paymentId: string,
  startedAt: string,
): Promise<void> {
  const { db, clock } = payments
  await inTransaction(db, async (transaction) => {
    const ledger = await openLedger(transaction, paymentId)
    // A hint that came in while looking asks for another look.
    if (!ledger || isHinted(ledger, startedAt, clock())) return
    const { checks } = ledger.payment
    const open = unfinished(ledger.payment, ledger)
    const delay = DELAYS_SECONDS[Math.min(checks, DELAYS_SECONDS.length - 1)] ?? 0
    const next = open
      ? { nextCheckAt: secondsAfter(clock(), delay), checks: checks + 1 }
      : { nextCheckAt: null, checks: 0 }
    await updateNextCheck(transaction, paymentId, next)
  })
}

function read({ db }: Payments, paymentId: string): Promise<Ledger | undefined> {
  return inTransaction(db, (transaction) => openLedger(transaction, paymentId))
}

function isHinted({ payment }: Ledger, startedAt: string, now: Date): boolean {
  const due = payment.nextCheckAt
  return due !== null && due > startedAt && due <= now.toISOString()
}
