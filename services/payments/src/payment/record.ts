import { isDeepStrictEqual } from 'node:util'
import { insertEvent } from '@plinth/events'
import { afterCommit } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import type { CheckoutSession, NewSession, Refund, RefundStatus } from '../provider/provider.ts'
import type { Recording } from './context.ts'
import { type Attempt, listAttempts } from './database/attempts.repository.ts'
import { insertObservation, type ObservationSource } from './database/observations.repository.ts'
import {
  findPayment,
  findPaymentForUpdate,
  type Payment,
  updateFailedToRetry,
  updateProjection,
} from './database/payments.repository.ts'
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

type Refunded = { refunds: CountedRefund[]; unresolved: RefundAttempt[] }

/** Everything known about a payment. */
export type PaymentRecord = Attempted & Refunded

/** A payment as stored, and what was just observed about it. */
type Observed = Attempted & Partial<Refunded> & { session?: CheckoutSession }

const FIRST_CHECK_SECONDS = 60

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

export function intentsOf(attempts: readonly Attempt[]): Set<string> {
  const intents = new Set<string>()
  for (const { paymentIntentId } of attempts) if (paymentIntentId) intents.add(paymentIntentId)
  return intents
}

async function refundsOf(
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

/**
 * Derives the payment from its attempts and refunds, stores it, and records the observation that led to
 * it. Refunds are read unless the caller passes current ones.
 */
export async function saveRecord(
  { db, countStatus }: Recording,
  { payment, attempts, session, ...refunded }: Observed,
  source: ObservationSource,
): Promise<PaymentRecord> {
  const known = { attempts, ...(await refundsOf(db, payment.id, attempts, refunded)) }
  const derived = derivePayment(payment.amount, attempts, known.refunds)
  const nextCheckAt = nextCheck(payment, derived, known, source.at)
  const providerCustomerId = customerOf(payment, derived, attempts, session)
  // Without a scheduled check a new wait begins, which counts its checks from zero.
  const checks = payment.nextCheckAt === null ? 0 : payment.checks
  const saved = { ...payment, ...derived, providerCustomerId, nextCheckAt, checks }
  if (!isDeepStrictEqual(payment, saved)) await updateProjection(db, saved, source.at)
  if (saved.status !== payment.status) afterCommit(db, () => countStatus(saved.status))
  if (derived.refundedAmount < payment.refundedAmount)
    await updateFailedToRetry(db, payment.id, source.at)
  await Promise.all([
    recordObservation(db, payment, saved, source),
    publishPaymentChange(
      db,
      { before: payment, after: saved, attempts: attempts.length },
      source.at,
    ),
  ])
  return { payment: saved, ...known }
}

function nextCheck(
  { nextCheckAt }: Payment,
  derived: Derived,
  known: Omit<PaymentRecord, 'payment'>,
  now: Date,
): string | null {
  if (isUnfinished(derived, known))
    return nextCheckAt ?? secondsAfter(now, FIRST_CHECK_SECONDS).toISOString()
  // A check that is already due was requested by a hint and has yet to run.
  return nextCheckAt !== null && nextCheckAt <= now.toISOString() ? nextCheckAt : null
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

/**
 * The customer of the attempt that is shown. If the request named none, only the session names the
 * customer, who is then kept for as long as that attempt is the one shown.
 */
function customerOf(
  before: Payment,
  { attemptReference }: Derived,
  attempts: readonly Attempt[],
  session?: CheckoutSession,
): string | null {
  const shown = attempts.find(({ reference }) => reference === attemptReference)
  const learnt = session && session.id === shown?.sessionId ? session.customerId : null
  const same = before.attemptReference === attemptReference
  if (same && learnt === null) return before.providerCustomerId
  const asked: Partial<NewSession> = JSON.parse(shown?.request ?? '{}')
  return asked.customerId ?? learnt
}

async function recordObservation(
  db: Db,
  before: Payment,
  after: Payment,
  source: ObservationSource,
): Promise<void> {
  const fresh = after.anomalies.filter((anomaly) => !before.anomalies.includes(anomaly))
  await insertObservation(db, source, {
    paymentId: before.id,
    anomaly: fresh.length > 0 ? fresh.join(',') : null,
    statusBefore: statusText(before),
    statusAfter: statusText(after),
  })
}

function statusText({ status, checkoutStatus }: Payment): string {
  return `${status}/${checkoutStatus ?? '-'}`
}

type Change = { before: Payment; after: Payment; attempts: number }

/** Publishes the events of a change to a payment, in the transaction that makes the change. */
async function publishPaymentChange(db: Db, change: Change, at: Date): Promise<void> {
  const { after } = change
  const data = {
    paymentId: after.id,
    businessReference: after.businessReference,
    status: after.status,
    checkoutStatus: after.checkoutStatus,
    amount: after.amount,
    refundedAmount: after.refundedAmount,
    currency: after.currency,
  }
  for (const type of typesOf(change)) await insertEvent(db, { type, subject: after.id, data, at })
}

function typesOf({ before, after, attempts }: Change): string[] {
  const isPaid = ({ status }: Payment) => status !== 'PENDING' && status !== 'FAILED'
  // Once an attempt is withdrawn, the previous one is shown again: its events were published before.
  const { attemptReference: shown } = before
  const isNews = shown === null || shown === after.attemptReference
  const types: string[] = []
  if (isNews && attempts === 1 && before.sessionId === null && after.sessionId !== null)
    types.push('payment.created')
  if (isPaid(after) && !isPaid(before)) types.push('payment.paid')
  if (isNews && after.status === 'FAILED' && before.status !== 'FAILED')
    types.push('payment.failed')
  if (isNews && after.checkoutStatus === 'EXPIRED' && before.checkoutStatus !== 'EXPIRED')
    types.push('payment.expired')
  return types
}

type RefundChange = {
  before: CountedRefund | undefined
  after: Refund
  paymentId: string | undefined
}

/** `paymentId` is undefined while no session that names the refund's intent has been seen. */
export async function publishRefundChange(
  db: Db,
  { before, after, paymentId }: RefundChange,
  at: Date,
): Promise<void> {
  const type = refundType(after.status)
  if (!type || (before && refundType(before.status) === type)) return
  const { id, amount, currency, status } = after
  const data = { refundId: id, paymentId: paymentId ?? null, amount, currency, status }
  await insertEvent(db, { type, subject: id, data, at })
}

function refundType(status: RefundStatus): string | undefined {
  if (status === 'succeeded') return 'refund.succeeded'
  return status === 'failed' || status === 'canceled' ? 'refund.failed' : undefined
}
