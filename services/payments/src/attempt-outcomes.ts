import { type Db, failPoint, inTransaction } from '@plinth/kit'
import { type Attempt, deleteReservedAttempt, findAttemptBySession } from './attempts.repository.ts'
import {
  findCheckoutGeneration,
  upsertCheckoutGeneration,
} from './checkout-generations.repository.ts'
import { lockPayment, settleLedger } from './ledger.ts'
import { lockSession } from './name-locks.repository.ts'
import { InconsistentObservation, observeSession } from './observations.ts'
import { attemptStateOf } from './observed-session.ts'
import { deletePayment } from './payments.repository.ts'
import type { Payments } from './payments.ts'
import type { CheckoutSession } from './provider/provider.ts'
import { recordReply } from './provider-replies.ts'
import type { PaymentTables } from './tables.ts'

/** Joins a session that we asked for to the attempt it belongs to. */
export async function recordSession(
  payments: Payments,
  attempt: Attempt,
  session: CheckoutSession,
  kind: string,
): Promise<void> {
  const { paymentId } = attempt
  const source = kind === 'session created' ? 'reply' : 'look-up'
  const about = { source, kind, at: payments.clock(), subject: session.id } as const
  // Asked for by us, so it is ours, whether it says so or not.
  const metadata = { ...session.metadata, paymentId }
  const seen = { paymentId, session: { ...session, metadata }, state: attemptStateOf(session) }
  await recordReply(payments.db, about, async (db) => {
    await refuseTakenSession(db, attempt, session)
    await observeSession(db, seen, about)
  })
}

/** A provider that gives one session to two attempts would have two customers pay one of them. */
async function refuseTakenSession(
  db: Db<PaymentTables>,
  { paymentId, sequence }: Attempt,
  { id }: CheckoutSession,
): Promise<void> {
  await lockSession(db, id)
  const owner = await findAttemptBySession(db, id)
  if (!owner || (owner.paymentId === paymentId && owner.sequence === sequence)) return
  const message = `Session ${id} is another attempt's already.`
  throw new InconsistentObservation('SESSION_USED_ELSEWHERE', paymentId, message)
}

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
