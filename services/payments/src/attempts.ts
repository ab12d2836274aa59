import { type Db, failPoint, inTransaction, secondsAfter } from '@plinth/kit'
import {
  type Attempt,
  deleteReservedAttempt,
  findAttemptBySession,
  listAttempts,
} from './attempts.repository.ts'
import { KEY_LIFETIME_SECONDS } from './idempotency-keys.ts'
import { lockPayment, settleLedger } from './ledger.ts'
import { lockSession } from './name-locks.repository.ts'
import { insertObservation, remark } from './observations.repository.ts'
import { InconsistentObservation, observeSession } from './observations.ts'
import { attemptStateOf } from './observed-session.ts'
import { deletePayment } from './payments.repository.ts'
import { type Payments, requireProvider } from './payments.ts'
import {
  isMissing,
  mustExist,
  providerFailed,
  providerInconsistent,
  providerRejected,
} from './provider/failures.ts'
import { isRemembered, provenRefused, refusedForGood } from './provider/outcomes.ts'
import type { CheckoutSession, NewSession } from './provider/provider.ts'
import type { PaymentTables } from './tables.ts'

/** Sends an attempt that was reserved in this request, and records the session. */
export async function sendAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  try {
    await create(payments, attempt)
  } catch (error) {
    if (provenRefused(error)) await withdrawAttempt(payments, attempt)
    throw blamed(error, attempt)
  }
}

/** The only thing a new session can fail to find is the customer the caller named. */
function blamed(error: unknown, { request }: Attempt): unknown {
  if (!isMissing(error)) return error
  const { customerId }: NewSession = JSON.parse(request)
  if (customerId === null) return providerFailed({ cause: error })
  return providerRejected({ cause: error, detail: error.message, extra: error.extra })
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
  const request: NewSession = JSON.parse(attempt.request)
  const session = await requireProvider(payments).createSession(request, attempt.idempotencyKey)
  failPoint('checkout:after-provider-call')
  await record(payments, attempt, session, 'session created')
  failPoint('checkout:recorded')
}

/** Asks the provider how a session stands and records what it says. */
export async function lookUpAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  const session = await mustExist(requireProvider(payments).findSession(attempt.sessionId ?? ''))
  await record(payments, attempt, session, 'session looked up')
}

/** Makes sure that a session whose time is over cannot be paid any more. */
export async function expireAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  const provider = requireProvider(payments)
  const id = attempt.sessionId ?? ''
  const session = await provider.expireSession(id).catch((error) => {
    if (refusedForGood(error)) return mustExist(provider.findSession(id))
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
    await record(
      payments,
      attempt,
      await mustExist(provider.findSession(session.id)),
      'session found',
    )
    return true
  }
  return false
}

async function record(
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
  try {
    await inTransaction(payments.db, async (db) => {
      await refuseTakenSession(db, attempt, session)
      await observeSession(db, seen, about)
    })
  } catch (error) {
    if (!(error instanceof InconsistentObservation)) throw error
    const { message: note, anomaly } = error
    await insertObservation(payments.db, { ...remark(about), paymentId, note, anomaly })
    throw providerInconsistent({ cause: error })
  }
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
