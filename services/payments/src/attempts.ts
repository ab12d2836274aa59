import { failPoint, secondsAfter } from '@plinth/kit'
import { recordSession, withdrawAttempt } from './attempt-outcomes.ts'
import { type Attempt, listAttempts } from './attempts.repository.ts'
import { KEY_LIFETIME_SECONDS } from './idempotency-keys.ts'
import { type Payments, requireProvider } from './payments.ts'
import { isRemembered, provenRefused, refusedForGood } from './provider/outcomes.ts'
import { isMissing, mustExist, providerFailed, providerRejected } from './provider/problems.ts'
import type { NewSession } from './provider/provider.ts'

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
  await recordSession(payments, attempt, session, 'session created')
  failPoint('checkout:recorded')
}

/** Asks the provider how a session stands and records what it says. */
export async function lookUpAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  const session = await mustExist(requireProvider(payments).findSession(attempt.sessionId ?? ''))
  await recordSession(payments, attempt, session, 'session looked up')
}

/** Makes sure that a session whose time is over cannot be paid any more. */
export async function expireAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  const provider = requireProvider(payments)
  const id = attempt.sessionId ?? ''
  const session = await provider.expireSession(id).catch((error) => {
    if (refusedForGood(error)) return mustExist(provider.findSession(id))
    throw error
  })
  await recordSession(payments, attempt, session, 'session expired')
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
    await recordSession(
      payments,
      attempt,
      await mustExist(provider.findSession(session.id)),
      'session found',
    )
    return true
  }
  return false
}
