import { type Db, secondsAfter } from '@plinth/kit'
import type { CheckoutSession, NewSession, Refund } from '../provider/provider.ts'
import { type Attempt, listAttempts } from './database/attempts.repository.ts'
import { type About, insertObservation, remark } from './database/observations.repository.ts'
import {
  findPaymentForUpdate,
  type Payment,
  updateFailedToRetry,
  updateProjection,
} from './database/payments.repository.ts'
import {
  listRefundsOf,
  listUnresolvedIntents,
  type RefundIntent,
} from './database/refunds.repository.ts'
import type { PaymentTables } from './database/tables.ts'
import { type Anomaly, type Derived, derivePayment, latestOf } from './state.ts'

/** A payment and its attempts, under the payment's lock. */
type LockedPayment = { payment: Payment; attempts: Attempt[] }

/** Everything known about a payment. */
export type Ledger = LockedPayment & { refunds: Refund[]; unresolved: RefundIntent[] }

/** A payment as it is stored, and what was just learnt about it. */
type Observed = LockedPayment & { refunds?: Refund[]; session?: CheckoutSession }

const FIRST_CHECK_SECONDS = 60

export async function lockPayment(
  db: Db<PaymentTables>,
  paymentId: string,
): Promise<LockedPayment | undefined> {
  const payment = await findPaymentForUpdate(db, paymentId)
  return payment && { payment, attempts: await listAttempts(db, paymentId) }
}

export async function openLedger(
  db: Db<PaymentTables>,
  paymentId: string,
): Promise<Ledger | undefined> {
  const locked = await lockPayment(db, paymentId)
  return locked && { ...locked, ...(await refundsOf(db, paymentId, locked.attempts)) }
}

export function intentsOf(attempts: readonly Attempt[]): Set<string> {
  const intents = new Set<string>()
  for (const { paymentIntentId } of attempts) if (paymentIntentId) intents.add(paymentIntentId)
  return intents
}

async function refundsOf(
  db: Db<PaymentTables>,
  paymentId: string,
  attempts: Attempt[],
  refunds?: Refund[],
) {
  const intents = intentsOf(attempts)
  if (intents.size === 0) return { refunds: [], unresolved: [] }
  return {
    refunds: refunds ?? (await listRefundsOf(db, intents)),
    unresolved: await listUnresolvedIntents(db, paymentId),
  }
}

/**
 * Derives the payment from its attempts and refunds, caches it, and notes how it came about. Who
 * has the refunds in hand, as they stand now, need not have them read.
 */
export async function settleLedger(
  db: Db<PaymentTables>,
  { payment, attempts, refunds, session }: Observed,
  about: About,
): Promise<Ledger> {
  const known = { attempts, ...(await refundsOf(db, payment.id, attempts, refunds)) }
  const derived = derivePayment(payment.amount, attempts, known.refunds)
  const nextCheckAt = nextCheck(payment, derived, known, about.at)
  const shown = attempts.find(({ reference }) => reference === derived.attemptReference)
  const providerCustomerId = shownCustomer(payment, shown, session)
  // A wait that begins now has nothing to do with one that ended before.
  const checks = payment.nextCheckAt === null ? 0 : payment.checks
  const settled = { ...payment, ...derived, providerCustomerId, nextCheckAt, checks }
  if (!sameAs(payment, settled)) await updateProjection(db, settled, about.at)
  if (derived.refundedAmount < payment.refundedAmount)
    await updateFailedToRetry(db, payment.id, about.at)
  await note(db, payment, settled, about)
  return { payment: settled, ...known }
}

function nextCheck(
  { nextCheckAt }: Payment,
  derived: Derived,
  known: Omit<Ledger, 'payment'>,
  now: Date,
): string | null {
  if (unfinished(derived, known))
    return nextCheckAt ?? secondsAfter(now, FIRST_CHECK_SECONDS).toISOString()
  // A look that is due already was asked for by a hint: it is still owed.
  return nextCheckAt !== null && nextCheckAt <= now.toISOString() ? nextCheckAt : null
}

/** Whether the provider still owes us an answer about this payment. */
export function unfinished(
  { status }: Pick<Derived, 'status'>,
  { attempts, refunds, unresolved }: Omit<Ledger, 'payment'>,
): boolean {
  if (unresolved.length > 0) return true
  if (refunds.some((refund) => ['pending', 'requires_action'].includes(refund.status))) return true
  const latest = latestOf(attempts)?.state ?? 'expired'
  return status === 'PENDING' && ['reserved', 'open', 'processing'].includes(latest)
}

function sameAs(before: Payment, after: Payment): boolean {
  const names = Object.keys(before) as (keyof Payment)[]
  const differing = names.filter((name) => before[name] !== after[name] && name !== 'anomalies')
  return differing.length === 0 && before.anomalies.join() === after.anomalies.join()
}

async function note(
  db: Db<PaymentTables>,
  before: Payment,
  after: Payment,
  about: About,
): Promise<void> {
  const fresh = after.anomalies.filter((anomaly: Anomaly) => !before.anomalies.includes(anomaly))
  await insertObservation(db, {
    ...remark(about),
    paymentId: before.id,
    anomaly: fresh.length > 0 ? fresh.join(',') : null,
    statusBefore: statusText(before),
    statusAfter: statusText(after),
  })
}

function statusText({ status, checkoutStatus }: Payment): string {
  return `${status}/${checkoutStatus ?? '-'}`
}

/**
 * The customer of the attempt that is shown. One who was not asked for is known only from the
 * session, and stays known while that attempt is the one shown.
 */
function shownCustomer(
  before: Payment,
  shown: Attempt | undefined,
  session?: CheckoutSession,
): string | null {
  const asked: Partial<NewSession> = JSON.parse(shown?.request ?? '{}')
  const learnt = session && session.id === shown?.sessionId ? session.customerId : null
  const same = before.attemptReference === (shown?.reference ?? null)
  return asked.customerId ?? learnt ?? (same ? before.providerCustomerId : null)
}
