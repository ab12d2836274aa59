import type { Attempt } from './attempts.repository.ts'
import { type AttemptState, joinAttemptState, latestOf } from './payment-state.ts'
import type { CheckoutSession } from './provider/provider.ts'

/** The intent of a completed session has ended without money when it says one of these. */
const INTENT_FAILED = ['requires_payment_method', 'canceled']

/**
 * What a session says about its attempt. A complete but unpaid session looks the same while the
 * bank decides and after it refused: only the kind of event or the intent itself tells them apart.
 */
export function attemptStateOf(session: CheckoutSession, eventType = ''): AttemptState {
  const kind = eventType.replace('checkout.session.', '')
  const paid = session.paymentStatus === 'paid' || session.paymentStatus === 'no_payment_required'
  if (paid || kind === 'async_payment_succeeded') return 'paid'
  if (kind === 'async_payment_failed') return 'failed'
  if (session.status === 'expired' || kind === 'expired') return 'expired'
  if (session.status === 'complete' || kind === 'completed') return completeState(session)
  return 'open'
}

function completeState({ paymentIntentStatus }: CheckoutSession): AttemptState {
  if (paymentIntentStatus === null) return 'processing'
  if (paymentIntentStatus === 'succeeded') return 'paid'
  return INTENT_FAILED.includes(paymentIntentStatus) ? 'failed' : 'processing'
}

/**
 * The attempt as it stands after the observation. A session nobody has seen before, but which names
 * this payment, belongs to the one attempt that still waits for its session; a paid one that belongs
 * to no attempt is taken in as an attempt of its own, for the money is there. Any other stranger
 * changes nothing.
 */
export function joinSession(
  paymentId: string,
  attempts: readonly Attempt[],
  session: CheckoutSession,
  state: AttemptState,
): Attempt | undefined {
  const known =
    attempts.find(({ sessionId }) => sessionId === session.id) ??
    (session.metadata.paymentId === paymentId ? waitingOf(attempts) : undefined)
  if (!known) return state === 'paid' ? strangerOf(paymentId, attempts, session) : undefined
  return {
    ...known,
    state: joinAttemptState(known.state, state),
    sessionId: session.id,
    paymentIntentId: known.paymentIntentId ?? session.paymentIntentId,
    url: session.url ?? known.url,
    expiresAt: session.expiresAt ?? known.expiresAt,
  }
}

function waitingOf(attempts: readonly Attempt[]): Attempt | undefined {
  return attempts.find(({ state, sessionId }) => state === 'reserved' && sessionId === null)
}

function strangerOf(
  paymentId: string,
  attempts: readonly Attempt[],
  session: CheckoutSession,
): Attempt {
  return {
    paymentId,
    sequence: (latestOf(attempts)?.sequence ?? 0) + 1,
    reference: `session:${session.id}`,
    state: 'paid',
    sessionId: session.id,
    paymentIntentId: session.paymentIntentId,
    url: session.url,
    expiresAt: session.expiresAt,
    // It was not sent from here, and is never sent again.
    request: JSON.stringify({ amount: session.amount, currency: session.currency }),
    idempotencyKey: '',
    firstSentAt: session.expiresAt ?? '',
  }
}
