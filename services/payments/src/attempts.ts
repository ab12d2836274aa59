import { failPoint, inTransaction, Problem, secondsAfter } from '@plinth/kit'
import { type Attempt, deleteReservedAttempt, listAttempts } from './attempts.repository.ts'
import { KEY_LIFETIME_SECONDS } from './idempotency-keys.ts'
import { lockPayment, settleLedger } from './ledger.ts'
import { insertObservation, remark } from './observations.repository.ts'
import { InconsistentObservation, observeSession } from './observations.ts'
import { attemptStateOf } from './observed-session.ts'
import { deletePayment } from './payments.repository.ts'
import { type Payments, requireProvider } from './payments.ts'
import {
  providerInconsistent,
  providerRejected,
  providerResourceMissing,
} from './provider/failures.ts'
import { isRemembered, provenRefused, refusedForGood } from './provider/outcomes.ts'
import type { CheckoutSession } from './provider/provider.ts'

/** Sends an attempt that was reserved in this request, and records the session. */
export async function sendAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  try {
    await create(payments, attempt)
  } catch (error) {
    if (provenRefused(error)) await withdrawAttempt(payments, attempt)
    throw error
  }
}

/**
 * Finds out what became of an attempt whose outcome is unknown: the same request under the same key
 * gives the same session. When the key is too old, or its reply is a failure for ever, the sessions
 * of that time are searched instead. An attempt that certainly has no session is withdrawn.
 */
export async function resolveAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  const forgotten = secondsAfter(new Date(attempt.firstSentAt), KEY_LIFETIME_SECONDS)
  if (payments.clock() >= forgotten) {
    if (!(await searchSession(payments, attempt))) await withdrawAttempt(payments, attempt)
    return
  }
  try {
    await create(payments, attempt)
  } catch (error) {
    if (refusedForGood(error)) return withdrawAttempt(payments, attempt)
    const found = await searchSession(payments, attempt).catch(() => {
      throw error
    })
    if (found) return
    if (!isRemembered(error)) throw error
    await withdrawAttempt(payments, attempt)
  }
}

async function create(payments: Payments, attempt: Attempt): Promise<void> {
  failPoint('checkout:reserved')
  const session = await createSession(payments, attempt)
  failPoint('checkout:after-provider-call')
  await record(payments, attempt, session, 'session created')
  failPoint('checkout:recorded')
}

async function createSession(payments: Payments, attempt: Attempt): Promise<CheckoutSession> {
  try {
    return await requireProvider(payments).createSession(attempt.request, attempt.idempotencyKey)
  } catch (error) {
    // The only thing a new session can fail to find is the customer the caller named.
    if (isMissing(error))
      throw providerRejected({ cause: error, detail: error.message, extra: error.extra })
    throw error
  }
}

/** Asks the provider how a session stands and records what it says. */
export async function lookUpAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  const session = await stored(requireProvider(payments).findSession(attempt.sessionId ?? ''))
  await record(payments, attempt, session, 'session looked up')
}

/** Makes sure that a session whose time is over cannot be paid any more. */
export async function expireAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  const provider = requireProvider(payments)
  const id = attempt.sessionId ?? ''
  const session = await provider.expireSession(id).catch((error) => {
    if (refusedForGood(error)) return stored(provider.findSession(id))
    throw error
  })
  await record(payments, attempt, session, 'session expired')
}

async function searchSession(payments: Payments, attempt: Attempt): Promise<boolean> {
  const provider = requireProvider(payments)
  const from = secondsAfter(new Date(attempt.firstSentAt), -300)
  const taken = (await listAttempts(payments.db, attempt.paymentId)).map(
    ({ sessionId }) => sessionId,
  )
  for await (const session of provider.listSessions({ from, to: payments.clock() })) {
    const ours = session.metadata.paymentId === attempt.paymentId && !taken.includes(session.id)
    if (!ours) continue
    await record(payments, attempt, await stored(provider.findSession(session.id)), 'session found')
    return true
  }
  return false
}

async function record(
  payments: Payments,
  { paymentId }: Attempt,
  session: CheckoutSession,
  kind: string,
): Promise<void> {
  const source = kind === 'session created' ? 'reply' : 'look-up'
  const about = { source, kind, at: payments.clock(), subject: session.id } as const
  const seen = { paymentId, session, state: attemptStateOf(session) }
  try {
    await inTransaction(payments.db, (db) => observeSession(db, seen, about))
  } catch (error) {
    if (!(error instanceof InconsistentObservation)) throw error
    const { message: note, anomaly } = error
    await insertObservation(payments.db, { ...remark(about), paymentId, note, anomaly })
    throw providerInconsistent({ cause: error })
  }
}

/** Takes back an attempt that certainly has no session; a payment never attempted goes with it. */
async function withdrawAttempt({ db, clock }: Payments, attempt: Attempt): Promise<void> {
  const { paymentId, reference } = attempt
  const about = { source: 'reply', kind: 'checkout refused', at: clock() } as const
  await inTransaction(db, async (transaction) => {
    const locked = await lockPayment(transaction, paymentId)
    if (!locked || !(await deleteReservedAttempt(transaction, attempt))) return
    const attempts = locked.attempts.filter(({ sequence }) => sequence !== attempt.sequence)
    if (attempts.length === 0) return deletePayment(transaction, paymentId)
    const note = `Attempt ${reference}`
    await settleLedger(transaction, { ...locked, attempts }, { ...about, note })
  })
  failPoint('checkout:withdrawn')
}

/** What is stored here must exist there: a missing session is never a reason to make another. */
async function stored<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    throw isMissing(error) ? providerInconsistent({ cause: error }) : error
  }
}

function isMissing(error: unknown): error is Problem {
  return error instanceof Problem && error.code === providerResourceMissing().code
}
