import { randomUUIDv7 } from 'node:crypto'
import { inTransaction } from '@plinth/kit/database'
import { failPoint, isLoopback, secondsAfter } from '@plinth/kit/runtime'
import { type Payments, requireProvider, withPaymentLock } from '../payment/context.ts'
import {
  findAttemptBySession,
  listAttempts,
  type ReservedAttempt,
  type SessionAttempt,
} from '../payment/database/attempts.repository.ts'
import { lockName } from '../payment/database/locks.repository.ts'
import { findPaymentByReference } from '../payment/database/payments.repository.ts'
import { lockSession, observeSession } from '../payment/observe-session.ts'
import {
  attemptProcessing,
  InconsistentObservation,
  returnUrlNotAllowed,
} from '../payment/problems.ts'
import { type Attempted, lockPayment } from '../payment/record.ts'
import { recordReply } from '../payment/record-reply.ts'
import { certaintyOf } from '../provider/failures.ts'
import { asOneOperation } from '../provider/operation-time.ts'
import {
  mustExist,
  providerFailed,
  providerRejected,
  providerResourceMissing,
} from '../provider/problems.ts'
import type { CheckoutSession, NewSession } from '../provider/provider.ts'
import {
  type Creation,
  type Outcome,
  resolveReserved,
  sendReserved,
} from '../provider/reserved-calls.ts'
import { linkParkedEvents } from '../webhooks/parked-events.ts'
import { reserveAttempt, reservePayment, withdrawAttempt } from './attempts.ts'
import {
  type CheckoutRequest,
  type CheckoutStep,
  type PayableAttempt,
  planCheckout,
  requireSameAmount,
} from './plan.ts'

type CheckoutReply = { paymentId: string; checkoutSessionId: string; checkoutUrl: string }

/** Creates a payable session for a logical payment, or returns the one that is already open. */
export async function openCheckout(
  payments: Payments,
  request: CheckoutRequest,
): Promise<CheckoutReply> {
  requireReturnUrl(payments, 'successUrl', request.successUrl)
  requireReturnUrl(payments, 'cancelUrl', request.cancelUrl)
  requireProvider(payments)
  const key = JSON.stringify(['checkout', request])
  return payments.singleFlight(key, () => asOneOperation(() => createOrReuse(payments, request)))
}

/** Text in which every parser finds the same host: the provider gets the text, not what was parsed here. */
const PLAIN_URL = /^https?:\/\/[^\s\\\p{Cc}]+$/iu

/** An arbitrary return page would turn the provider's checkout into an open redirect for phishing. */
function requireReturnUrl(
  { returnOrigins, production }: Payments,
  name: string,
  text: string | null,
): void {
  if (text === null) return
  const url = PLAIN_URL.test(text) && URL.canParse(text) ? new URL(text) : undefined
  if (!url)
    throw returnUrlNotAllowed({
      detail: `${name}: must be an http or https address without spaces or backslashes.`,
    })
  const isLocal = !production && isLoopback(url.hostname)
  if (url.username || url.password || !(isLocal || returnOrigins.includes(url.origin)))
    throw returnUrlNotAllowed({
      detail: `${name}: its origin is not in PAYMENTS_RETURN_ORIGINS.`,
    })
}

async function createOrReuse(payments: Payments, request: CheckoutRequest): Promise<CheckoutReply> {
  while (true) {
    const known = await findPaymentByReference(payments.db, request.businessReference)
    if (known) requireSameAmount(request, known)
    const paymentId = known?.id ?? randomUUIDv7()
    const payable = await withPaymentLock(payments, paymentId, async () => {
      const reserve = () => reservePayment(payments, paymentId, request, linkParkedEvents)
      return payableAttempt(payments, paymentId, request, known ? undefined : await reserve())
    })
    if (payable)
      return { paymentId, checkoutSessionId: payable.sessionId, checkoutUrl: payable.url }
  }
}

const MAX_STEPS = 8

/** Performs steps until there is an open session; undefined when the payment was withdrawn. */
async function payableAttempt(
  payments: Payments,
  paymentId: string,
  request: CheckoutRequest,
  first: ReservedAttempt | undefined,
): Promise<PayableAttempt | undefined> {
  let next = first
    ? ({ step: 'send', attempt: first } as const)
    : await reserveOrPlan(payments, paymentId, request)
  for (let count = 0; count < MAX_STEPS; count++) {
    if (!next) return undefined
    if (next.step === 'reuse') return next.attempt
    const seen = await performStep(payments, next)
    const asked = next.attempt.sequence
    const plan = seen && planCheckout(request, { ...seen, asked, now: payments.clock() })
    next =
      plan && plan.step !== 'reserve'
        ? plan
        : await reserveOrPlan(payments, paymentId, request, asked)
  }
  throw attemptProcessing()
}

type NextStep =
  | Exclude<CheckoutStep, { step: 'reserve' }>
  | { step: 'send'; attempt: ReservedAttempt }

/** Decides under the payment's lock; a new attempt is committed before the provider is called. */
function reserveOrPlan(
  payments: Payments,
  paymentId: string,
  request: CheckoutRequest,
  asked?: number,
): Promise<NextStep | undefined> {
  const now = payments.clock()
  return inTransaction(payments.db, async (db) => {
    const locked = await lockPayment(db, paymentId)
    if (!locked) return undefined
    const plan = planCheckout(request, { ...locked, asked, now })
    if (plan.step !== 'reserve') return plan
    const attempt = await reserveAttempt({ ...payments, db }, locked, request, plan.sequence)
    return { step: 'send', attempt }
  })
}

/** The payment as recorded after the step; undefined when nothing was created. */
function performStep(
  payments: Payments,
  next: Exclude<NextStep, { step: 'reuse' }>,
): Promise<Attempted | undefined> {
  switch (next.step) {
    case 'send':
      return sendAttempt(payments, next.attempt)
    case 'resolve':
      return resolveAttempt(payments, next.attempt)
    case 'look-up':
      return lookUpAttempt(payments, next.attempt)
    case 'expire':
      return expireAttempt(payments, next.attempt)
  }
}

async function sendAttempt(
  payments: Payments,
  attempt: ReservedAttempt,
): Promise<Attempted | undefined> {
  const outcome = await sendReserved(checkoutCreation(payments), attempt)
  const recorded = await settle(payments, attempt, outcome)
  if (outcome.kind === 'nothing') throw attributeFailure(outcome.error, attempt)
  return recorded
}

/** Resolves an attempt with an unknown outcome; undefined when it had none and was withdrawn. */
export async function resolveAttempt(
  payments: Payments,
  attempt: ReservedAttempt,
): Promise<Attempted | undefined> {
  const outcome = await resolveReserved(checkoutCreation(payments), attempt, payments.clock())
  return settle(payments, attempt, outcome)
}

function checkoutCreation(payments: Payments): Creation<ReservedAttempt, CheckoutSession> {
  return {
    name: 'checkout',
    create: ({ request, idempotencyKey }) =>
      requireProvider(payments).createSession(JSON.parse(request), idempotencyKey),
    search: (attempt) => searchSession(payments, attempt),
    // Sessions can only be searched by time, so resending under the same key is cheaper.
    searchesFirst: false,
  }
}

/** Records the outcome of a call. */
async function settle(
  payments: Payments,
  attempt: ReservedAttempt,
  outcome: Outcome<CheckoutSession>,
): Promise<Attempted | undefined> {
  if (outcome.kind === 'nothing') {
    await withdrawAttempt(payments, attempt, outcome.key)
    return undefined
  }
  const kind = outcome.kind === 'made' ? 'session created' : 'session found'
  const recorded = await recordSession(payments, attempt, outcome.object, kind)
  failPoint('checkout:recorded')
  return recorded
}

/** The only thing a new session can fail to find is the customer the caller named. */
function attributeFailure(error: unknown, { request }: ReservedAttempt): unknown {
  if (!providerResourceMissing.is(error)) return error
  const { customerId }: NewSession = JSON.parse(request)
  if (customerId === null) return providerFailed({ cause: error })
  return providerRejected({ cause: error, detail: error.message, extra: error.extra })
}

const CLOCK_SLACK_SECONDS = 300

/** Searches for the session of an attempt whose reply was lost. */
async function searchSession(
  payments: Payments,
  { paymentId, firstSentAt }: ReservedAttempt,
): Promise<CheckoutSession | undefined> {
  const provider = requireProvider(payments)
  const since = secondsAfter(new Date(firstSentAt), -CLOCK_SLACK_SECONDS)
  const taken = (await listAttempts(payments.db, paymentId)).map(({ sessionId }) => sessionId)
  for await (const { id, metadata } of provider.listSessions(since)) {
    if (metadata.paymentId !== paymentId || taken.includes(id)) continue
    return provider.findSession(id)
  }
  return undefined
}

export async function lookUpAttempt(
  payments: Payments,
  attempt: SessionAttempt,
): Promise<Attempted | undefined> {
  const session = await mustExist(requireProvider(payments).findSession(attempt.sessionId))
  return recordSession(payments, attempt, session, 'session looked up')
}

/** Makes sure that an overdue session can no longer be paid. */
async function expireAttempt(
  payments: Payments,
  attempt: SessionAttempt,
): Promise<Attempted | undefined> {
  const provider = requireProvider(payments)
  const { sessionId } = attempt
  const session = await provider.expireSession(sessionId).catch((error) => {
    if (certaintyOf(error).isFinal) return mustExist(provider.findSession(sessionId))
    throw error
  })
  return recordSession(payments, attempt, session, 'session expired')
}

/** Joins a session that we requested to its attempt; undefined when the payment was withdrawn. */
async function recordSession(
  payments: Payments,
  { paymentId, sequence }: ReservedAttempt | SessionAttempt,
  reply: CheckoutSession,
  kind: string,
): Promise<Attempted | undefined> {
  const { id } = reply
  const from = kind === 'session created' ? 'reply' : 'look-up'
  const source = { source: from, kind, at: payments.clock(), subject: id } as const
  // We requested it for this payment, whether or not its metadata says so.
  const session = { ...reply, metadata: { ...reply.metadata, paymentId } }
  return recordReply(payments, source, async (recording) => {
    await lockName(recording.db, 'session', id)
    const owner = await findAttemptBySession(recording.db, id)
    // If the provider gave one session to two attempts, two customers would pay the same one.
    if (owner && (owner.paymentId !== paymentId || owner.sequence !== sequence))
      throw new InconsistentObservation(
        'SESSION_USED_ELSEWHERE',
        paymentId,
        `Session ${id} already belongs to another attempt.`,
      )
    const seen = { paymentId, session }
    const locked = await lockSession(recording.db, seen)
    return locked && observeSession(recording, locked, seen, source)
  })
}
