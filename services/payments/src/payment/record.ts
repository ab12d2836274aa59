import { type Attempt, listAttempts } from './database/attempts.repository.ts'
import { findPayment, findPaymentForUpdate, type Payment } from './database/payments.repository.ts'
import {
  type CountedRefund,
  listRefundsIncluding,
  listRefundsOf,
  listUnresolvedAttempts,
  type RefundAttempt,
} from './database/refunds.repository.ts'
import type { Db } from './database/tables.ts'
import { paymentMissing } from './problems.ts'
import { type Derived, derivePayment, isUnderWay, latestOf } from './state.ts'

export type Attempted = { payment: Payment; attempts: Attempt[] }

export type Refunded = { refunds: CountedRefund[]; unresolved: RefundAttempt[] }

/** Everything known about a payment. */
export type PaymentRecord = Attempted & Refunded

/** Takes the payment's row lock, which always comes before locks on any other row of the payment. */
export async function lockPayment(db: Db, paymentId: string): Promise<Attempted | undefined> {
  const [payment, attempts] = await Promise.all([
    findPaymentForUpdate(db, paymentId),
    listAttempts(db, paymentId),
  ])
  return payment && { payment, attempts }
}

/**
 * Like `lockPayment`, plus refunds. Refunds of `intent` (which the payment has, or is about to get) are
 * read in the same round trip; a second intent is rare. So is the refund `soughtId`, whatever its intent.
 */
export async function lockRecord(
  db: Db,
  paymentId: string,
  intent: string | null = null,
  soughtId = '',
): Promise<PaymentRecord | undefined> {
  const [locked, refunds, unresolved] = await Promise.all([
    lockPayment(db, paymentId),
    intent ? listRefundsIncluding(db, intent, soughtId) : [],
    listUnresolvedAttempts(db, paymentId),
  ])
  if (!locked) return undefined
  const others = intentsOf(locked.attempts)
  if (intent) others.delete(intent)
  if (others.size === 0) return { ...locked, refunds, unresolved }
  return { ...locked, refunds: [...refunds, ...(await listRefundsOf(db, others))], unresolved }
}

/** Reads without a lock, so the payment is derived again to match the attempts and refunds just read. */
export async function readRecord(db: Db, paymentId: string): Promise<PaymentRecord | undefined> {
  const stored = await findPayment(db, paymentId)
  if (!stored) return undefined
  const attempts = await listAttempts(db, paymentId)
  const known = await refundsOf(db, paymentId, attempts)
  const derived = derivePayment(stored.amount, attempts, known.refunds)
  return { payment: { ...stored, ...derived }, attempts, ...known }
}

export async function requirePayment(db: Db, id: string): Promise<Payment> {
  const payment = await findPayment(db, id)
  if (!payment) throw paymentMissing()
  return payment
}

function intentsOf(attempts: readonly Attempt[]): Set<string> {
  const intents = new Set<string>()
  for (const { paymentIntentId } of attempts) if (paymentIntentId) intents.add(paymentIntentId)
  return intents
}

/** The refunds of the intents of `attempts`. */
export function countedOf(refunds: CountedRefund[], attempts: Attempt[]): CountedRefund[] {
  const intents = intentsOf(attempts)
  return refunds.filter(({ paymentIntentId }) => intents.has(paymentIntentId ?? ''))
}

/** Of the intents of `attempts`; refunds that the caller knows are not read again. */
export async function refundsOf(
  db: Db,
  paymentId: string,
  attempts: Attempt[],
  known: Partial<Refunded> = {},
): Promise<Refunded> {
  const intents = intentsOf(attempts)
  if (intents.size === 0) return { refunds: [], unresolved: [] }
  return {
    refunds: known.refunds ?? (await listRefundsOf(db, intents)),
    unresolved: known.unresolved ?? (await listUnresolvedAttempts(db, paymentId)),
  }
}

/** Whether the provider still owes us an answer about this payment. */
export function isUnfinished(
  { status }: Pick<Derived, 'status'>,
  { attempts, refunds, unresolved }: Omit<PaymentRecord, 'payment'>,
): boolean {
  if (unresolved.length > 0 || refunds.some(isUnderWay)) return true
  const latest = latestOf(attempts)?.state ?? 'expired'
  return status === 'PENDING' && ['reserved', 'open', 'processing'].includes(latest)
}
