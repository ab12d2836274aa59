import { type Db, failPoint, inTransaction } from '@plinth/kit'
import type { Payments } from '../payment/context.ts'
import {
  type Attempt,
  deleteReservedAttempt,
  findCheckoutGeneration,
  insertAttempt,
  upsertCheckoutGeneration,
} from '../payment/database/attempts.repository.ts'
import {
  deletePayment,
  insertPayment,
  type NewPayment,
} from '../payment/database/payments.repository.ts'
import type { PaymentTables } from '../payment/database/tables.ts'
import { type Ledger, lockPayment, settleLedger } from '../payment/record.ts'
import { checkoutKey } from '../provider/idempotency-keys.ts'
import type { NewSession } from '../provider/provider.ts'
import type { CheckoutRequest } from './plan.ts'

/**
 * Takes back an attempt that certainly has no session; a payment never attempted goes with it. A
 * key that is spent would only repeat its refusal, so the next attempt gets another. One that is
 * not is used again: should a node that lost its lease have sent it, both are given one session.
 */
export async function withdrawAttempt(
  { db, clock }: Payments,
  attempt: Attempt,
  key: 'spent' | 'unused',
): Promise<void> {
  const { paymentId, reference } = attempt
  const about = { source: 'reply', kind: 'checkout refused', at: clock() } as const
  await inTransaction(db, async (transaction) => {
    const locked = await lockPayment(transaction, paymentId)
    if (!locked || !(await deleteReservedAttempt(transaction, attempt))) return
    const attempts = locked.attempts.filter(({ sequence }) => sequence !== attempt.sequence)
    if (attempts.length === 0) return deletePayment(transaction, paymentId)
    if (key === 'spent') await raiseGeneration(transaction, paymentId)
    const note = `Attempt ${reference}`
    await settleLedger(transaction, { ...locked, attempts }, { ...about, note })
  })
  failPoint('checkout:withdrawn')
}

async function raiseGeneration(db: Db<PaymentTables>, paymentId: string): Promise<void> {
  const generation = (await findCheckoutGeneration(db, paymentId)) + 1
  await upsertCheckoutGeneration(db, { paymentId, generation })
}

/** Applies what is known of a payment before it exists, inside the same transaction. */
type LinkEarlierEvents = (db: Db<PaymentTables>, payment: NewPayment, at: Date) => Promise<void>

type Known = Pick<Ledger, 'payment' | 'attempts'>

/**
 * Of racing requests one inserts the payment, and its first attempt with it: a payment without one
 * would never be looked at. Undefined for the others, and when events that waited for the payment
 * have brought an attempt already.
 */
export function reservePayment(
  payments: Payments,
  id: string,
  request: CheckoutRequest,
  linkEarlierEvents: LinkEarlierEvents,
): Promise<Attempt | undefined> {
  const { businessReference, amount, currency, providerCustomerId } = request
  const now = payments.clock()
  const createdAt = now.toISOString()
  return inTransaction(payments.db, async (db) => {
    const payment = { id, businessReference, amount, currency, providerCustomerId, createdAt }
    if (!(await insertPayment(db, payment))) return undefined
    await linkEarlierEvents(db, payment, now)
    const locked = await lockPayment(db, id)
    if (!locked || locked.attempts.length > 0) return undefined
    return insertReserved({ ...payments, db }, locked, newAttempt(payments, id, request))
  })
}

/** Inside the caller's transaction, which holds the payment's lock. */
export async function reserveAttempt(
  payments: Payments,
  locked: Known,
  request: CheckoutRequest,
  sequence: number,
): Promise<Attempt> {
  const { id } = locked.payment
  const generation = await findCheckoutGeneration(payments.db, id)
  return insertReserved(payments, locked, newAttempt(payments, id, request, sequence, generation))
}

async function insertReserved(
  { db, clock }: Payments,
  { payment, attempts }: Known,
  attempt: Attempt,
): Promise<Attempt> {
  await insertAttempt(db, attempt)
  const about = { source: 'request', kind: 'checkout requested', at: clock() } as const
  const note = `Attempt ${attempt.reference}`
  await settleLedger(db, { payment, attempts: [...attempts, attempt] }, { ...about, note })
  return attempt
}

/** Everything the attempt is sent with, so that it can be written down first and sent again. */
function newAttempt(
  payments: Payments,
  paymentId: string,
  request: CheckoutRequest,
  sequence = 1,
  generation = 0,
): Attempt {
  const { attemptReference } = request
  return {
    paymentId,
    sequence,
    reference: attemptReference,
    state: 'reserved',
    sessionId: null,
    paymentIntentId: null,
    url: null,
    expiresAt: null,
    request: JSON.stringify(newSession(payments, paymentId, request)),
    idempotencyKey: checkoutKey(paymentId, attemptReference, generation),
    firstSentAt: payments.clock().toISOString(),
  }
}

function newSession(
  { successUrl, cancelUrl }: Payments,
  paymentId: string,
  request: CheckoutRequest,
): NewSession {
  const { businessReference, amount, currency, description } = request
  return {
    amount,
    currency,
    description,
    customerId: request.providerCustomerId,
    customerEmail: request.customerEmail,
    successUrl,
    cancelUrl,
    reference: paymentId,
    metadata: { ...request.metadata, paymentId, businessReference },
  }
}
