import type { CheckoutSession } from '../provider/provider.ts'
import type { Recording } from './context.ts'
import {
  type Attempt,
  insertAttempt,
  type SessionAttempt,
  updateAttempt,
} from './database/attempts.repository.ts'
import { lockName } from './database/locks.repository.ts'
import type { ObservationSource } from './database/observations.repository.ts'
import type { Payment } from './database/payments.repository.ts'
import type { Db } from './database/tables.ts'
import { InconsistentObservation } from './problems.ts'
import { countedOf, lockRecord, type PaymentRecord } from './record.ts'
import { saveRecord } from './save.ts'
import { joinAttemptState, latestOf } from './state.ts'

export type SeenSession = { paymentId: string; session: CheckoutSession }

/** Takes the locks and reads the rows needed to join a session, in one round trip. */
export async function lockSession(
  db: Db,
  { paymentId, session }: SeenSession,
): Promise<PaymentRecord | undefined> {
  const { paymentIntentId: intent } = session
  const [, locked] = await Promise.all([
    intent ? lockName(db, 'intent', intent) : undefined,
    lockRecord(db, paymentId, intent),
  ])
  return locked
}

/** Joins an observed session to its payment, which `lockSession` has locked in the caller's transaction. */
export async function observeSession(
  recording: Recording,
  locked: PaymentRecord,
  seen: SeenSession,
  source: ObservationSource,
): Promise<PaymentRecord> {
  const { session } = seen
  requireMatchingSession(locked.payment, session)

  const joined = joinSession(locked.attempts, seen)
  const attempts = await writeAttempt(recording.db, locked.attempts, joined)
  const note = joined ? undefined : 'The session belongs to no attempt of this payment.'
  const refunds = countedOf(locked.refunds, attempts)
  const observed = { ...locked, attempts, refunds, session }
  return saveRecord(recording, observed, { note, ...source, subject: session.id })
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
  { paymentId, session }: SeenSession,
): SessionAttempt | undefined {
  const known =
    attempts.find(({ sessionId }) => sessionId === session.id) ??
    (session.metadata.paymentId === paymentId
      ? attempts.find((attempt) => attempt.state === 'reserved')
      : undefined)
  if (!known)
    return session.state === 'paid' ? unexpectedAttempt(paymentId, attempts, session) : undefined
  return {
    ...known,
    state: joinAttemptState(known.state, session.state),
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
