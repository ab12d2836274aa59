import { randomUUIDv7 } from 'node:crypto'
import { inTransaction } from '@plinth/kit/database'
import { isLoopback, secondsAfter } from '@plinth/kit/runtime'
import { type Payments, requireProvider, withPaymentLock } from '../payment/context.ts'
import {
  findAttemptBySession,
  listAttempts,
  type ReservedAttempt,
  type SessionAttempt,
} from '../payment/database/attempts.repository.ts'
import { lockName } from '../payment/database/locks.repository.ts'
import { findPaymentByReference } from '../payment/database/payments.repository.ts'
import { observeSession, recordReply } from '../payment/observe.ts'
import {
  attemptProcessing,
  InconsistentObservation,
  returnUrlNotAllowed,
} from '../payment/problems.ts'
import { lockPayment } from '../payment/record.ts'
import { sessionStateOf } from '../payment/state.ts'
import { certaintyOf } from '../provider/failures.ts'
import { asOneOperation } from '../provider/operation-time.ts'
import {
  mustExist,
  providerFailed,
  providerRejected,
  providerResourceMissing,
} from '../provider/problems.ts'
import type { CheckoutSession, NewSession } from '../provider/provider.ts'
import { type Operation, resolveReserved, sendReserved } from '../provider/reserved-calls.ts'
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
  if (first) await performStep(payments, { step: 'send', attempt: first })
  let asked = first?.sequence
  for (let count = 0; count < MAX_STEPS; count++) {
    const next = await nextStep(payments, paymentId, request, asked)
    if (!next) return undefined
    if (next.step === 'reuse') return next.attempt
    await performStep(payments, next)
    asked = next.attempt.sequence
  }
  throw attemptProcessing()
}

type NextStep =
  | Exclude<CheckoutStep, { step: 'reserve' }>
  | { step: 'send'; attempt: ReservedAttempt }

/** Decides under the payment's lock; a new attempt is committed before the provider is called. */
function nextStep(
  payments: Payments,
  paymentId: string,
  request: CheckoutRequest,
  asked: number | undefined,
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

function performStep(
  payments: Payments,
  next: Exclude<NextStep, { step: 'reuse' }>,
): Promise<unknown> {
  switch (next.step) {
    case 'send':
      return sendReserved(checkoutOperation(payments), next.attempt)
    case 'resolve':
      return resolveAttempt(payments, next.attempt)
    case 'look-up':
      return lookUpAttempt(payments, next.attempt)
    case 'expire':
      return expireAttempt(payments, next.attempt)
  }
}

export function resolveAttempt(payments: Payments, attempt: ReservedAttempt): Promise<unknown> {
  return resolveReserved(checkoutOperation(payments), attempt)
}

function checkoutOperation(payments: Payments): Operation<ReservedAttempt, CheckoutSession> {
  return {
    name: 'checkout',
    clock: payments.clock,
    create: ({ request, idempotencyKey }) =>
      requireProvider(payments).createSession(JSON.parse(request), idempotencyKey),
    record: (attempt, session) => recordSession(payments, attempt, session, 'session created'),
    search: (attempt) => searchSession(payments, attempt),
    // Sessions can only be searched by time, so resending under the same key is cheaper.
    searchesFirst: false,
    withdraw: (attempt, key) => withdrawAttempt(payments, attempt, key),
    attributeFailure,
  }
}

/** The only thing a new session can fail to find is the customer the caller named. */
function attributeFailure(error: unknown, { request }: ReservedAttempt): unknown {
  if (!providerResourceMissing.is(error)) return error
  const { customerId }: NewSession = JSON.parse(request)
  if (customerId === null) return providerFailed({ cause: error })
  return providerRejected({ cause: error, detail: error.message, extra: error.extra })
}

const CLOCK_SLACK_SECONDS = 300

/** Searches for the session of an attempt whose reply was lost, and records it. */
async function searchSession(
  payments: Payments,
  attempt: ReservedAttempt,
): Promise<CheckoutSession | undefined> {
  const { paymentId, firstSentAt } = attempt
  const provider = requireProvider(payments)
  const since = secondsAfter(new Date(firstSentAt), -CLOCK_SLACK_SECONDS)
  const taken = (await listAttempts(payments.db, paymentId)).map(({ sessionId }) => sessionId)
  for await (const { id, metadata } of provider.listSessions(since)) {
    if (metadata.paymentId !== paymentId || taken.includes(id)) continue
    const session = await provider.findSession(id)
    await recordSession(payments, attempt, session, 'session found')
    return session
  }
  return undefined
}

export async function lookUpAttempt(payments: Payments, attempt: SessionAttempt): Promise<void> {
  const session = await mustExist(requireProvider(payments).findSession(attempt.sessionId))
  await recordSession(payments, attempt, session, 'session looked up')
}

/** Makes sure that an overdue session can no longer be paid. */
async function expireAttempt(payments: Payments, attempt: SessionAttempt): Promise<void> {
  const provider = requireProvider(payments)
  const { sessionId } = attempt
  const session = await provider.expireSession(sessionId).catch((error) => {
    if (certaintyOf(error).isFinal) return mustExist(provider.findSession(sessionId))
    throw error
  })
  await recordSession(payments, attempt, session, 'session expired')
}

/** Joins a session that we requested to its attempt. */
async function recordSession(
  payments: Payments,
  { paymentId, sequence }: ReservedAttempt | SessionAttempt,
  reply: CheckoutSession,
  kind: string,
): Promise<void> {
  const { id } = reply
  const from = kind === 'session created' ? 'reply' : 'look-up'
  const source = { source: from, kind, at: payments.clock(), subject: id } as const
  // We requested it for this payment, whether or not its metadata says so.
  const session = { ...reply, metadata: { ...reply.metadata, paymentId } }
  await recordReply(payments, source, async (recording) => {
    await lockName(recording.db, 'session', id)
    const owner = await findAttemptBySession(recording.db, id)
    // If the provider gave one session to two attempts, two customers would pay the same one.
    if (owner && (owner.paymentId !== paymentId || owner.sequence !== sequence))
      throw new InconsistentObservation(
        'SESSION_USED_ELSEWHERE',
        paymentId,
        `Session ${id} already belongs to another attempt.`,
      )
    await observeSession(recording, { paymentId, session, state: sessionStateOf(reply) }, source)
  })
}
