import { afterCommit, inTransaction } from '@plinth/kit/database'
import { failPoint } from '@plinth/kit/runtime'
import type { Payments } from '../payment/context.ts'
import {
  deleteReservedAttempt,
  insertAttempt,
  type ReservedAttempt,
} from '../payment/database/attempts.repository.ts'
import { findGeneration, raiseGeneration } from '../payment/database/generations.repository.ts'
import {
  deletePayment,
  insertPayment,
  type NewPayment,
} from '../payment/database/payments.repository.ts'
import { type Attempted, lockPayment } from '../payment/record.ts'
import { saveRecord } from '../payment/save.ts'
import type { NewSession } from '../provider/provider.ts'
import { idempotencyKey } from '../provider/reserved-calls.ts'
import type { CheckoutRequest } from './plan.ts'

/** Applies events that arrived before the payment existed, inside the same transaction. */
type LinkEarlierEvents = (payments: Payments, payment: NewPayment, at: Date) => Promise<void>

/**
 * Inserts the payment together with its first attempt: a payment without an attempt would never be
 * reconciled. Undefined when a concurrent request has inserted the payment, or when events that were
 * parked for it have already added an attempt.
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

/** Runs inside the caller's transaction, which holds the payment's lock. */
export async function reserveAttempt(
  payments: Payments,
  { payment, attempts }: Attempted,
  request: CheckoutRequest,
  sequence: number,
): Promise<ReservedAttempt> {
  const { db, clock } = payments
  const reference = request.attemptReference
  const generation = await findGeneration(db, payment.id)
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
    // For merchants who search the provider's dashboard; our own search uses the metadata.
    reference: businessReference,
    metadata: { ...request.metadata, paymentId, businessReference },
  }
}

/**
 * Withdraws an attempt that certainly has no session, and deletes a payment left without attempts. A
 * spent idempotency key would only replay its refusal, so the next attempt gets a new one. An unused
 * key is used again: if a node that lost its lease did send it, both requests get the same session.
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
    if (key === 'spent') await raiseGeneration(transaction, paymentId)
    const source = { source: 'reply', kind: 'checkout refused', at: clock() } as const
    const note = `Attempt ${reference}`
    // The status of the previous attempt is shown again: it was counted when the payment reached it.
    const recording = { db: transaction, countStatus: () => {} }
    await saveRecord(recording, { ...locked, attempts }, { ...source, note })
  })
  failPoint('checkout:withdrawn')
}
