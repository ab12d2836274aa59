import { failPoint, secondsAfter } from '@plinth/kit'
import { recordSession, withdrawAttempt } from './attempt-outcomes.ts'
import type { Attempt } from './attempts.repository.ts'
import { KEY_LIFETIME_SECONDS } from './idempotency-keys.ts'
import { searchSession } from './lost-sessions.ts'
import { type Payments, requireProvider } from './payments.ts'
import { isKeyUsed, isRemembered, provenRefused, refusedForGood } from './provider/outcomes.ts'
import { isMissing, mustExist, providerFailed, providerRejected } from './provider/problems.ts'
import type { NewSession } from './provider/provider.ts'

/** Sends an attempt that was reserved in this request, and records the session. */
export async function sendAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  try {
    await create(payments, attempt)
  } catch (error) {
    if (isKeyUsed(error) && (await searchSession(payments, attempt))) return
    const key = refusedForGood(error) ? 'spent' : 'unused'
    if (provenRefused(error)) await withdrawAttempt(payments, attempt, key)
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
 * gives the same session. When the key is too old, was used with other content, or its reply is a
 * failure for ever, the sessions since then are searched instead. An attempt that certainly has no
 * session is withdrawn.
 */
export async function resolveAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  const forgotten = secondsAfter(new Date(attempt.firstSentAt), KEY_LIFETIME_SECONDS)
  if (payments.clock() >= forgotten) return findOrWithdraw(payments, attempt)
  try {
    await create(payments, attempt)
  } catch (error) {
    if (isKeyUsed(error)) return findOrWithdraw(payments, attempt)
    if (refusedForGood(error)) return withdrawAttempt(payments, attempt, 'spent')
    const found = await searchSession(payments, attempt).catch(() => {
      throw error
    })
    if (found) return
    if (!isRemembered(error)) throw error
    await withdrawAttempt(payments, attempt, 'spent')
  }
}

async function findOrWithdraw(payments: Payments, attempt: Attempt): Promise<void> {
  if (await searchSession(payments, attempt)) return
  await withdrawAttempt(payments, attempt, 'spent')
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
