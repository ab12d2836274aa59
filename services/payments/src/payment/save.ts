import { isDeepStrictEqual } from 'node:util'
import { afterCommit } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import type { CheckoutSession, NewSession } from '../provider/provider.ts'
import type { Recording } from './context.ts'
import type { Attempt } from './database/attempts.repository.ts'
import { updateFailedToRetry } from './database/failed-events.repository.ts'
import { insertObservation, type ObservationSource } from './database/observations.repository.ts'
import { type Payment, updateProjection } from './database/payments.repository.ts'
import type { Db } from './database/tables.ts'
import { publishPaymentChange } from './publish.ts'
import {
  type Attempted,
  isUnfinished,
  type PaymentRecord,
  type Refunded,
  refundsOf,
} from './record.ts'
import { type Derived, derivePayment } from './state.ts'

/** A payment as stored, and what was just observed about it. */
type Observed = Attempted & Partial<Refunded> & { session?: CheckoutSession }

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

const FIRST_CHECK_SECONDS = 60

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
