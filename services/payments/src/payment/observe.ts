import { inTransaction } from '@plinth/kit/database'
import { providerInconsistent } from '../provider/problems.ts'
import type { CheckoutSession, Refund } from '../provider/provider.ts'
import type { Recording } from './context.ts'
import {
  type Attempt,
  findPaymentIdByIntent,
  insertAttempt,
  type SessionAttempt,
  updateAttempt,
} from './database/attempts.repository.ts'
import { lockName } from './database/locks.repository.ts'
import { insertObservation, type ObservationSource } from './database/observations.repository.ts'
import type { Payment } from './database/payments.repository.ts'
import {
  type CountedRefund,
  findRefund,
  findRefundAttempt,
  linkRefundAttempt,
  type RefundAttempt,
  upsertRefund,
} from './database/refunds.repository.ts'
import type { Db } from './database/tables.ts'
import { InconsistentObservation } from './problems.ts'
import { publishRefundChange } from './publish.ts'
import { intentsOf, lockRecord, type PaymentRecord } from './record.ts'
import { saveRecord } from './save.ts'
import { joinAttemptState, joinRefundStatus, latestOf, type SessionState } from './state.ts'

type SeenSession = { paymentId: string; session: CheckoutSession; state: SessionState }

/** Takes the locks and reads the rows needed to join a session, in one round trip. */
export async function lockSession(
  db: Db,
  { paymentId, session }: SeenSession,
): Promise<PaymentRecord | undefined> {
  const { paymentIntentId: intent } = session
  const [, locked] = await Promise.all([lockIntent(db, intent), lockRecord(db, paymentId, intent)])
  return locked
}

/** Joins an observed session to its payment, inside the caller's transaction. */
export async function observeSession(
  recording: Recording,
  seen: SeenSession,
  source: ObservationSource,
  locking = lockSession(recording.db, seen),
): Promise<void> {
  const { db } = recording
  const [{ session }, locked] = [seen, await locking]
  if (!locked) return
  requireMatchingSession(locked.payment, session)

  const joined = joinSession(locked.attempts, seen)
  const attempts = await writeAttempt(db, locked.attempts, joined)
  const note = joined ? undefined : 'The session belongs to no attempt of this payment.'
  const refunds = countedOf(locked.refunds, attempts)
  const observed = { ...locked, attempts, refunds, session }
  await saveRecord(recording, observed, { note, ...source, subject: session.id })
}

async function lockIntent(db: Db, intent: string | null): Promise<void> {
  if (intent) await lockName(db, 'intent', intent)
}

function countedOf(refunds: CountedRefund[], attempts: Attempt[]): CountedRefund[] {
  const intents = intentsOf(attempts)
  return refunds.filter(({ paymentIntentId }) => intents.has(paymentIntentId ?? ''))
}

function requireMatchingSession(payment: Payment, { id, amount, currency }: CheckoutSession): void {
  const same =
    (amount === null || amount === payment.amount) &&
    (currency === null || currency === payment.currency)
  if (same) return
  const expected = `${payment.amount} ${payment.currency}`
  const message = `Session ${id} is for ${amount} ${currency}, the payment for ${expected}.`
  throw new InconsistentObservation('SESSION_DIFFERS', payment.id, message)
}

/**
 * The attempt as it stands after the observation. A new session that names this payment belongs to the
 * one attempt that is still waiting for its session. A paid session without an attempt becomes an attempt
 * of its own, because its money has arrived. Any other session changes nothing.
 */
function joinSession(
  attempts: readonly Attempt[],
  { paymentId, session, state }: SeenSession,
): SessionAttempt | undefined {
  const known =
    attempts.find(({ sessionId }) => sessionId === session.id) ??
    (session.metadata.paymentId === paymentId
      ? attempts.find((attempt) => attempt.state === 'reserved')
      : undefined)
  if (!known) return state === 'paid' ? unexpectedAttempt(paymentId, attempts, session) : undefined
  return {
    ...known,
    state: joinAttemptState(known.state, state),
    sessionId: session.id,
    paymentIntentId: known.paymentIntentId ?? session.paymentIntentId,
    url: session.url ?? known.url,
    expiresAt: session.expiresAt ?? known.expiresAt,
  }
}

function unexpectedAttempt(
  paymentId: string,
  attempts: readonly Attempt[],
  session: CheckoutSession,
): SessionAttempt {
  return {
    paymentId,
    sequence: (latestOf(attempts)?.sequence ?? 0) + 1,
    reference: `session:${session.id}`,
    state: 'paid',
    sessionId: session.id,
    paymentIntentId: session.paymentIntentId,
    url: session.url,
    expiresAt: session.expiresAt,
    // This service did not send it and will never resend it.
    request: JSON.stringify({ amount: session.amount, currency: session.currency }),
    idempotencyKey: '',
    firstSentAt: session.expiresAt ?? '',
  }
}

async function writeAttempt(
  db: Db,
  attempts: Attempt[],
  joined: SessionAttempt | undefined,
): Promise<Attempt[]> {
  if (!joined) return attempts
  const others = attempts.filter(({ sequence }) => sequence !== joined.sequence)
  if (others.length < attempts.length) await updateAttempt(db, joined)
  else await insertAttempt(db, joined)
  return [...others, joined]
}

type LockedRefund = {
  record: PaymentRecord | undefined
  seen: CountedRefund | undefined
  attempt: RefundAttempt | undefined
}

/**
 * Takes the locks and reads the rows needed to join a refund. `ownerId` is the payment that has the
 * intent, if known: a payment never loses its intent, so its own lock is enough.
 */
export async function lockRefund(
  db: Db,
  observed: Refund,
  ownerId: string | null = null,
): Promise<LockedRefund> {
  const intent = observed.paymentIntentId ?? (await earlierIntentOf(db, observed))
  const paymentId = ownerId ?? (await findOwner(db, intent))
  const reference = observed.metadata.refundReference
  const [record, attempt] = await Promise.all([
    paymentId === undefined ? undefined : lockRecord(db, paymentId, intent, observed.id),
    paymentId && reference ? findRefundAttempt(db, paymentId, reference) : undefined,
  ])
  const seen = record
    ? record.refunds.find(({ id }) => id === observed.id)
    : await findRefund(db, observed.id)
  return { record, seen, attempt }
}

/**
 * Joins an observed refund to its payment, inside the caller's transaction. A refund whose intent
 * belongs to no attempt yet is stored, and counts as soon as a session names the intent.
 */
export async function observeRefund(
  recording: Recording,
  observed: Refund,
  source: ObservationSource,
  locking = lockRefund(recording.db, observed),
): Promise<PaymentRecord | undefined> {
  const { db } = recording
  const { record: locked, seen, attempt } = await locking
  const joined = joinRefund(seen, observed)
  const change = { before: seen, after: joined, paymentId: locked?.payment.id }
  await Promise.all([
    upsertRefund(db, joined, source.at),
    publishRefundChange(db, change, source.at),
  ])
  if (!locked) return undefined
  const linked = attempt && isAnsweredBy(attempt, observed) ? attempt : undefined
  if (linked) await linkRefundAttempt(db, linked, observed.id)
  const others = locked.refunds.filter(({ id }) => id !== joined.id)
  const refunds = countedOf([...others, joined], locked.attempts)
  const unresolved = locked.unresolved.filter(({ reference }) => reference !== linked?.reference)
  const record = { ...locked, refunds, unresolved }
  return saveRecord(recording, record, { ...source, subject: observed.id })
}

/** Takes the intent's lock, which a session that names the intent takes too. */
async function findOwner(db: Db, intent: string | null): Promise<string | undefined> {
  if (!intent) return undefined
  const [, paymentId] = await Promise.all([
    lockIntent(db, intent),
    findPaymentIdByIntent(db, intent),
  ])
  return paymentId
}

/** The intent that an earlier observation of the refund named, in case this one does not. */
async function earlierIntentOf(db: Db, { id }: Refund): Promise<string | null> {
  return (await findRefund(db, id))?.paymentIntentId ?? null
}

function joinRefund(known: CountedRefund | undefined, observed: Refund): Refund {
  if (!known) return observed
  return {
    ...observed,
    amount: known.amount,
    paymentIntentId: known.paymentIntentId ?? observed.paymentIntentId,
    status: joinRefundStatus(known.status, observed.status),
    reason: observed.reason ?? known.reason,
  }
}

/**
 * Whether this is the refund that our attempt was waiting for; once linked, the refund itself is counted
 * instead. A withdrawn attempt is linked too: its reference must never create a second refund.
 */
function isAnsweredBy({ state, amount }: RefundAttempt, refund: Refund): boolean {
  return state !== 'linked' && amount === refund.amount
}

/** Records a reply of the provider. An inconsistent one is not applied but kept as an anomaly: 502. */
export async function recordReply(
  { db, countStatus }: Recording,
  source: ObservationSource,
  record: (recording: Recording) => Promise<unknown>,
): Promise<void> {
  try {
    await inTransaction(db, (transaction) => record({ db: transaction, countStatus }))
  } catch (error) {
    if (!(error instanceof InconsistentObservation)) throw error
    const { message: note, anomaly, paymentId } = error
    await insertObservation(db, source, { paymentId, note, anomaly })
    throw providerInconsistent({ cause: error })
  }
}
