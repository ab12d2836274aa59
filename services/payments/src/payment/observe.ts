import { type Db, inTransaction } from '@plinth/kit'
import { providerInconsistent } from '../provider/problems.ts'
import type { CheckoutSession, Refund } from '../provider/provider.ts'
import {
  type Attempt,
  findPaymentIdByIntent,
  insertAttempt,
  updateAttempt,
} from './database/attempts.repository.ts'
import { lockIntent } from './database/locks.repository.ts'
import { type About, insertObservation, remark } from './database/observations.repository.ts'
import type { Payment } from './database/payments.repository.ts'
import {
  findRefund,
  findRefundIntent,
  listRefundsOf,
  updateIntentState,
  upsertRefund,
} from './database/refunds.repository.ts'
import type { PaymentTables } from './database/tables.ts'
import { InconsistentObservation } from './problems.ts'
import { intentsOf, type Ledger, lockPayment, settleLedger } from './record.ts'
import { type AttemptState, joinAttemptState, joinRefundStatus, latestOf } from './state.ts'

type SeenSession = { paymentId: string; session: CheckoutSession; state: AttemptState }

/** Joins what a session says to its payment, inside the caller's transaction. */
export async function observeSession(
  db: Db<PaymentTables>,
  { paymentId, session, state }: SeenSession,
  about: About,
): Promise<Ledger | undefined> {
  await lockIntent(db, session.paymentIntentId)
  const locked = await lockPayment(db, paymentId)
  if (!locked) return undefined
  refuseDifferent(locked.payment, session)

  const joined = joinSession(paymentId, locked.attempts, session, state)
  const attempts = await writeAttempt(db, locked.attempts, joined)
  const note = joined ? undefined : 'The session belongs to no attempt of this payment.'
  const observed = { payment: locked.payment, attempts, session }
  return settleLedger(db, observed, { note, ...about, subject: session.id })
}

async function writeAttempt(
  db: Db<PaymentTables>,
  attempts: Attempt[],
  joined: Attempt | undefined,
): Promise<Attempt[]> {
  if (!joined) return attempts
  const others = attempts.filter(({ sequence }) => sequence !== joined.sequence)
  if (others.length < attempts.length) await updateAttempt(db, joined)
  else await insertAttempt(db, joined)
  return [...others, joined]
}

function refuseDifferent(payment: Payment, { id, amount, currency }: CheckoutSession): void {
  const same =
    (amount === null || amount === payment.amount) &&
    (currency === null || currency === payment.currency)
  if (same) return
  const said = `${amount} ${currency}`
  throw new InconsistentObservation(
    'SESSION_DIFFERS',
    payment.id,
    `Session ${id} is for ${said}, the payment for ${payment.amount} ${payment.currency}.`,
  )
}

/**
 * Joins what a refund says, inside the caller's transaction. A refund of an intent that no attempt
 * has yet is kept: it counts from the moment a session names the intent. `ownerId` is the payment
 * that has the intent, where that is known.
 */
export async function observeRefund(
  db: Db<PaymentTables>,
  observed: Refund,
  about: About,
  ownerId: string | null = null,
): Promise<Ledger | undefined> {
  const paymentIntentId = observed.paymentIntentId ?? (await intentOf(db, observed))
  await lockIntent(db, paymentIntentId)
  const paymentId =
    ownerId ?? (paymentIntentId && (await findPaymentIdByIntent(db, paymentIntentId)))
  const locked = paymentId ? await lockPayment(db, paymentId) : undefined
  const intents = intentsOf(locked?.attempts ?? [])
  const refunds = await listRefundsOf(db, intents)

  const known = refunds.find(({ id }) => id === observed.id) ?? (await findRefund(db, observed.id))
  const joined = joinRefund(known, observed)
  await upsertRefund(db, joined, about.at)
  if (!locked) return undefined
  await linkIntent(db, locked.payment.id, observed)
  const others = refunds.filter(({ id }) => id !== joined.id)
  const ours = intents.has(joined.paymentIntentId ?? '') ? [...others, joined] : others
  return settleLedger(db, { ...locked, refunds: ours }, { ...about, subject: observed.id })
}

/** The intent of a refund that was seen before, when this word of it does not say. */
async function intentOf(db: Db<PaymentTables>, { id }: Refund): Promise<string | null> {
  return (await findRefund(db, id))?.paymentIntentId ?? null
}

function joinRefund(known: Refund | undefined, observed: Refund): Refund {
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
 * The refund an intent of ours was waiting for; from now on the refund itself is counted. One that
 * was given up is no different: its reference must never make a second refund.
 */
async function linkIntent(db: Db<PaymentTables>, paymentId: string, refund: Refund): Promise<void> {
  const reference = refund.metadata.refundReference
  const intent = reference ? await findRefundIntent(db, paymentId, reference) : undefined
  if (!intent || intent.state === 'linked' || intent.amount !== refund.amount) return
  await updateIntentState(db, intent, { state: 'linked', refundId: refund.id })
}

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
function joinSession(
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

/** Records an answer of the provider. What must never be applied is kept as a remark, and is 502. */
export async function recordReply(
  db: Db<PaymentTables>,
  about: About,
  record: (transaction: Db<PaymentTables>) => Promise<unknown>,
): Promise<void> {
  try {
    await inTransaction(db, record)
  } catch (error) {
    if (!(error instanceof InconsistentObservation)) throw error
    const { message: note, anomaly, paymentId } = error
    await insertObservation(db, { ...remark(about), paymentId, note, anomaly })
    throw providerInconsistent({ cause: error })
  }
}
