import { inTransaction } from '@plinth/kit'
import { type Attempt, insertAttempt } from './attempts.repository.ts'
import { findCheckoutGeneration } from './checkout-generations.repository.ts'
import type { CheckoutRequest } from './checkout-plan.ts'
import { type Ledger, lockPayment, settleLedger } from './ledger.ts'
import { newAttempt } from './new-attempt.ts'
import { linkParkedEvents } from './parked-events.ts'
import { insertPayment } from './payments.repository.ts'
import type { Payments } from './payments.ts'

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
): Promise<Attempt | undefined> {
  const { businessReference, amount, currency, providerCustomerId } = request
  const now = payments.clock()
  const createdAt = now.toISOString()
  return inTransaction(payments.db, async (db) => {
    const payment = { id, businessReference, amount, currency, providerCustomerId, createdAt }
    if (!(await insertPayment(db, payment))) return undefined
    await linkParkedEvents(db, payment, now)
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
