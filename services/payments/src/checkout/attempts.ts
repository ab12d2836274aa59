import { afterCommit, failPoint, inTransaction } from '@plinth/kit'
import type { Payments, Recording } from '../payment/context.ts'
import {
  deleteReservedAttempt,
  findCheckoutGeneration,
  insertAttempt,
  type ReservedAttempt,
  raiseCheckoutGeneration,
} from '../payment/database/attempts.repository.ts'
import {
  deletePayment,
  insertPayment,
  type NewPayment,
} from '../payment/database/payments.repository.ts'
import { type Attempted, lockPayment, saveRecord } from '../payment/record.ts'
import type { NewSession } from '../provider/provider.ts'
import { idempotencyKey } from '../provider/reserved-calls.ts'
import type { CheckoutRequest } from './plan.ts'

/** Applies what is known of a payment before it exists, inside the same transaction. */
type LinkEarlierEvents = (recording: Recording, payment: NewPayment, at: Date) => Promise<void>

/**
 * Of racing requests one inserts the payment, and its first attempt with it: a payment without one
 * would never be reconciled. Undefined for the others, and when events that waited for the payment
 * have brought an attempt already.
 */
export function reservePayment(
  payments: Payments,
  id: string,
  request: CheckoutRequest,
  linkEarlierEvents: LinkEarlierEvents,
): Promise<ReservedAttempt | undefined> {
  const { businessReference, amount, currency, providerCustomerId } = request
  const now = payments.clock()
  const createdAt = now.toISOString()
  return inTransaction(payments.db, async (db) => {
    const payment = { id, businessReference, amount, currency, providerCustomerId, createdAt }
    if (!(await insertPayment(db, payment))) return undefined
    afterCommit(db, () => payments.countStatus('PENDING'))
    await linkEarlierEvents({ ...payments, db }, payment, now)
    const locked = await lockPayment(db, id)
    if (!locked || locked.attempts.length > 0) return undefined
    return reserveAttempt({ ...payments, db }, locked, request, 1)
  })
}

/** Inside the caller's transaction, which holds the payment's lock. */
export async function reserveAttempt(
  payments: Payments,
  { payment, attempts }: Attempted,
  request: CheckoutRequest,
  sequence: number,
): Promise<ReservedAttempt> {
  const { db, clock } = payments
  const reference = request.attemptReference
  const generation = await findCheckoutGeneration(db, payment.id)
  const at = clock()
  const attempt: ReservedAttempt = {
    paymentId: payment.id,
    sequence,
    reference,
    state: 'reserved',
    sessionId: null,
    paymentIntentId: null,
    url: null,
    expiresAt: null,
    request: JSON.stringify(newSession(payments, payment.id, request)),
    idempotencyKey: idempotencyKey('co1', payment.id, reference, generation),
    firstSentAt: at.toISOString(),
  }
  await insertAttempt(db, attempt)
  const source = { source: 'request', kind: 'checkout requested', at } as const
  const note = `Attempt ${reference}`
  await saveRecord(payments, { payment, attempts: [...attempts, attempt] }, { ...source, note })
  return attempt
}

function newSession(pages: Payments, paymentId: string, request: CheckoutRequest): NewSession {
  const { businessReference, amount, currency, description, customerEmail } = request
  const withId = (page: string) => page.replaceAll('{PAYMENT_ID}', paymentId)
  return {
    amount,
    currency,
    description,
    customerId: request.providerCustomerId,
    customerEmail,
    successUrl: request.successUrl ?? withId(pages.successUrl),
    cancelUrl: request.cancelUrl ?? withId(pages.cancelUrl),
    // What a merchant looks for in the provider's dashboard; the search uses the metadata.
    reference: businessReference,
    metadata: { ...request.metadata, paymentId, businessReference },
  }
}

/**
 * Takes back an attempt that certainly has no session; a payment never attempted goes with it. A
 * key that is spent would only repeat its refusal, so the next attempt gets another. One that is
 * not is used again: should a node that lost its lease have sent it, both are given one session.
 */
export async function withdrawAttempt(
  payments: Payments,
  attempt: ReservedAttempt,
  key: 'spent' | 'unused',
): Promise<void> {
  const { db, clock } = payments
  const { paymentId, reference } = attempt
  await inTransaction(db, async (transaction) => {
    const locked = await lockPayment(transaction, paymentId)
    if (!locked || !(await deleteReservedAttempt(transaction, attempt))) return
    const attempts = locked.attempts.filter(({ sequence }) => sequence !== attempt.sequence)
    if (attempts.length === 0) return deletePayment(transaction, paymentId)
    if (key === 'spent') await raiseCheckoutGeneration(transaction, paymentId)
    const source = { source: 'reply', kind: 'checkout refused', at: clock() } as const
    const note = `Attempt ${reference}`
    const recording = { ...payments, db: transaction }
    await saveRecord(recording, { ...locked, attempts }, { ...source, note })
  })
  failPoint('checkout:withdrawn')
}
