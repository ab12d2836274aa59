import type { Db } from '@plinth/kit'
import {
  type Attempt,
  findPaymentIdByIntent,
  insertAttempt,
  updateAttempt,
} from './attempts.repository.ts'
import { intentsOf, type Ledger, lockPayment, settleLedger } from './ledger.ts'
import { lockIntent } from './name-locks.repository.ts'
import type { About } from './observations.repository.ts'
import { joinSession } from './observed-session.ts'
import { type AttemptState, joinRefundStatus } from './payment-state.ts'
import type { Payment } from './payments.repository.ts'
import type { CheckoutSession, Refund } from './provider/provider.ts'
import { findRefundIntent, updateIntentState } from './refund-intents.repository.ts'
import { findRefund, listRefundsOf, upsertRefund } from './refunds.repository.ts'
import type { PaymentTables } from './tables.ts'

/** The provider says something that must never be applied silently. */
export class InconsistentObservation extends Error {
  readonly anomaly: string
  readonly paymentId: string

  constructor(anomaly: string, paymentId: string, message: string) {
    // It is kept with the event, and PostgreSQL keeps no NUL.
    super(message.replaceAll('\u0000', ''))
    this.name = 'InconsistentObservation'
    this.anomaly = anomaly
    this.paymentId = paymentId
  }
}

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
