import { randomUUID } from 'node:crypto'
import { type Db, failPoint, inTransaction, secondsAfter } from '@plinth/kit'
import { type Payments, requireProvider, withPayment } from '../payment/context.ts'
import {
  type Attempt,
  findAttemptBySession,
  listAttempts,
} from '../payment/database/attempts.repository.ts'
import { lockSession } from '../payment/database/locks.repository.ts'
import { findPaymentByReference } from '../payment/database/payments.repository.ts'
import type { PaymentTables } from '../payment/database/tables.ts'
import { attemptStateOf, observeSession, recordReply } from '../payment/observe.ts'
import { attemptProcessing, InconsistentObservation } from '../payment/problems.ts'
import { lockPayment } from '../payment/record.ts'
import { isKeyUsed, isRemembered, provenRefused, refusedForGood } from '../provider/failures.ts'
import { KEY_LIFETIME_SECONDS } from '../provider/idempotency-keys.ts'
import {
  mustExist,
  providerFailed,
  providerRejected,
  providerResourceMissing,
} from '../provider/problems.ts'
import type { CheckoutSession, NewSession } from '../provider/provider.ts'
import { linkParkedEvents } from '../webhooks/parked-events.ts'
import { reserveAttempt, reservePayment, withdrawAttempt } from './attempts.ts'
import { type CheckoutRequest, type CheckoutStep, planCheckout, refuseDifferent } from './plan.ts'

type CheckoutReply = { paymentId: string; checkoutSessionId: string; checkoutUrl: string }

/** Creates a payable session for a logical payment, or hands out the one that is open already. */
export async function openCheckout(
  payments: Payments,
  request: CheckoutRequest,
): Promise<CheckoutReply> {
  requireProvider(payments)
  const key = JSON.stringify(['checkout', request])
  return payments.sharing(key, () => createOrReuse(payments, request))
}

async function createOrReuse(payments: Payments, request: CheckoutRequest): Promise<CheckoutReply> {
  while (true) {
    const known = await findPaymentByReference(payments.db, request.businessReference)
    if (known) refuseDifferent(request, known)
    const paymentId = known?.id ?? randomUUID()
    const attempt = await withPayment(payments, paymentId, async () => {
      const first = known
        ? undefined
        : await reservePayment(payments, paymentId, request, linkParkedEvents)
      return payableAttempt(payments, paymentId, request, first)
    })
    if (attempt)
      return {
        paymentId,
        checkoutSessionId: attempt.sessionId ?? '',
        checkoutUrl: attempt.url ?? '',
      }
  }
}

const MOST_STEPS = 8

/** Goes step by step until there is an open session; undefined when the payment was withdrawn. */
async function payableAttempt(
  payments: Payments,
  paymentId: string,
  request: CheckoutRequest,
  first: Attempt | undefined,
): Promise<Attempt | undefined> {
  if (first) await sendAttempt(payments, first)
  let asked = first?.sequence
  for (let count = 0; count < MOST_STEPS; count++) {
    const next = await nextStep(payments, paymentId, request, asked)
    if (next?.step === 'reuse') return next.attempt
    if (!next) return undefined
    await take(payments, next)
    asked = next.attempt.sequence
  }
  throw attemptProcessing()
}

type ProviderStep = {
  step: Exclude<CheckoutStep['step'], 'reserve'> | 'send-first'
  attempt: Attempt
}

function take(payments: Payments, { step, attempt }: ProviderStep): Promise<void> {
  if (step === 'send-first') return sendAttempt(payments, attempt)
  if (step === 'send') return resolveAttempt(payments, attempt)
  return step === 'expire' ? expireAttempt(payments, attempt) : lookUpAttempt(payments, attempt)
}

/** Decides under the payment's lock; a new attempt is written down before the provider hears of it. */
function nextStep(
  payments: Payments,
  paymentId: string,
  request: CheckoutRequest,
  asked: number | undefined,
): Promise<ProviderStep | undefined> {
  const now = payments.clock()
  return inTransaction(payments.db, async (db) => {
    const locked = await lockPayment(db, paymentId)
    if (!locked) return undefined
    const plan = planCheckout(request, { ...locked, asked, now })
    if (plan.step !== 'reserve') return plan
    const attempt = await reserveAttempt({ ...payments, db }, locked, request, plan.sequence)
    return { step: 'send-first', attempt }
  })
}

/** Joins a session that we asked for to the attempt it belongs to. */
async function recordSession(
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

/** Sends an attempt that was reserved in this request, and records the session. */
async function sendAttempt(payments: Payments, attempt: Attempt): Promise<void> {
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
  if (!providerResourceMissing.is(error)) return error
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
async function expireAttempt(payments: Payments, attempt: Attempt): Promise<void> {
  const provider = requireProvider(payments)
  const id = attempt.sessionId ?? ''
  const session = await provider.expireSession(id).catch((error) => {
    if (refusedForGood(error)) return mustExist(provider.findSession(id))
    throw error
  })
  await recordSession(payments, attempt, session, 'session expired')
}

const CLOCK_SLACK_SECONDS = 300

/** Looks for the session of an attempt whose reply got lost, and records it. */
async function searchSession(payments: Payments, attempt: Attempt): Promise<boolean> {
  const session = await mustExist(findLostSession(payments, attempt))
  if (session) await recordSession(payments, attempt, session, 'session found')
  return session !== undefined
}

async function findLostSession(
  payments: Payments,
  { paymentId, firstSentAt }: Attempt,
): Promise<CheckoutSession | undefined> {
  const provider = requireProvider(payments)
  const since = secondsAfter(new Date(firstSentAt), -CLOCK_SLACK_SECONDS)
  const taken = (await listAttempts(payments.db, paymentId)).map(({ sessionId }) => sessionId)
  for await (const { id, metadata } of provider.listSessions(since))
    if (metadata.paymentId === paymentId && !taken.includes(id)) return provider.findSession(id)
  return undefined
}
