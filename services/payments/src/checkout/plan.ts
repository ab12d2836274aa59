import { secondsAfter } from '@plinth/kit/runtime'
import type {
  Attempt,
  ReservedAttempt,
  SessionAttempt,
} from '../payment/database/attempts.repository.ts'
import type { Payment } from '../payment/database/payments.repository.ts'
import {
  attemptProcessing,
  attemptReferenceSpent,
  paymentDiffers,
  paymentSettled,
} from '../payment/problems.ts'
import { latestOf } from '../payment/state.ts'
import { providerFailed } from '../provider/problems.ts'

export type CheckoutRequest = {
  amount: number
  currency: string
  description: string
  businessReference: string
  attemptReference: string
  customerEmail: string | null
  providerCustomerId: string | null
  metadata: Record<string, string>
  /** Where the customer is sent afterwards; null means the configured page. */
  successUrl: string | null
  cancelUrl: string | null
}

export type PayableAttempt = SessionAttempt & { url: string }

export type CheckoutStep =
  | { step: 'reserve'; sequence: number }
  | { step: 'resolve'; attempt: ReservedAttempt }
  | { step: 'look-up' | 'expire'; attempt: SessionAttempt }
  | { step: 'reuse'; attempt: PayableAttempt }

type Situation = {
  payment: Payment
  attempts: readonly Attempt[]
  /** The sequence of the attempt that this request has already asked the provider about. */
  asked: number | undefined
  now: Date
}

/**
 * Never allows two payable sessions: a new attempt is reserved only after the provider itself has
 * confirmed that the last one ended, and an open session is reused only after looking it up.
 */
export function planCheckout(request: CheckoutRequest, situation: Situation): CheckoutStep {
  const { payment, attempts, asked, now } = situation
  requireSameAmount(request, payment)
  if (attempts.some(({ state }) => state === 'paid')) throw paymentSettled()

  const latest = latestOf(attempts)
  if (latest?.state === 'reserved') return { step: 'resolve', attempt: latest }
  if (latest?.state === 'open' || latest?.state === 'processing') {
    if (asked !== latest.sequence) return { step: 'look-up', attempt: latest }
    if (latest.state === 'processing') throw attemptProcessing()
    if (isOverdue(latest, now)) return { step: 'expire', attempt: latest }
    return { step: 'reuse', attempt: requireUrl(latest) }
  }
  if (attempts.some(({ reference }) => reference === request.attemptReference))
    throw attemptReferenceSpent()
  return { step: 'reserve', sequence: (latest?.sequence ?? 0) + 1 }
}

export function requireSameAmount(request: CheckoutRequest, { amount, currency }: Payment): void {
  if (request.amount !== amount || request.currency !== currency) throw paymentDiffers()
}

function requireUrl(attempt: SessionAttempt): PayableAttempt {
  const { url } = attempt
  if (url === null) throw providerFailed({ detail: "The provider's session has no URL." })
  return { ...attempt, url }
}

const MIN_LIFE_SECONDS = 1800

/** A session lives at least half an hour: if a younger one is overdue, a clock is wrong. */
function isOverdue({ expiresAt, firstSentAt }: SessionAttempt, now: Date): boolean {
  const earliest = secondsAfter(new Date(firstSentAt), MIN_LIFE_SECONDS)
  return expiresAt !== null && expiresAt <= now.toISOString() && earliest <= now
}
