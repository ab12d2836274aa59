import type { CheckoutSession, Customer, Refund, SessionState } from '../provider.ts'
import {
  currencyOf,
  isName,
  isObject,
  metadataOf,
  numberOf,
  oneOf,
  type Raw,
  reasonOf,
  refundStatusOf,
  textOf,
} from '../values.ts'

/** A provider object has the same shape in events, replies and look-ups. */
export function readSession(raw: Raw, eventType?: string): CheckoutSession {
  return {
    id: textOf(raw.id) ?? '',
    url: textOf(raw.url),
    state: sessionStateOf(raw, eventType),
    paymentIntentId: idOf(raw.payment_intent),
    customerId: idOf(raw.customer),
    amount: numberOf(raw.amount_total),
    currency: currencyOf(raw.currency),
    expiresAt: instantOf(raw.expires_at),
    metadata: metadataOf(raw.metadata),
  }
}

/**
 * What a session says about its payment. A complete but unpaid session looks the same while the
 * bank decides and after it has refused: only the event type or the intent itself shows which.
 */
function sessionStateOf(raw: Raw, eventType = ''): SessionState {
  const kind = eventType.replace('checkout.session.', '')
  const status = oneOf(raw.status, ['open', 'complete', 'expired'])
  const paid = oneOf(raw.payment_status, ['paid', 'no_payment_required']) !== null
  if (paid || kind === 'async_payment_succeeded') return 'paid'
  if (kind === 'async_payment_failed') return 'failed'
  if (status === 'expired' || kind === 'expired') return 'expired'
  if (status === 'complete' || kind === 'completed') return completeState(raw.payment_intent)
  return 'open'
}

/** Statuses of a completed session's intent that mean it ended without money. */
const INTENT_FAILED = ['requires_payment_method', 'canceled']

/** The status of the intent is known only when the provider was asked to expand it. */
function completeState(intent: unknown): SessionState {
  const status = isObject(intent) ? textOf(intent.status) : null
  if (status === null) return 'processing'
  if (status === 'succeeded') return 'paid'
  return INTENT_FAILED.includes(status) ? 'failed' : 'processing'
}

export function readRefund(raw: Raw): Refund {
  return {
    id: textOf(raw.id) ?? '',
    paymentIntentId: idOf(raw.payment_intent),
    amount: numberOf(raw.amount) ?? 0,
    currency: currencyOf(raw.currency) ?? '',
    status: refundStatusOf(textOf(raw.status)),
    reason: reasonOf(raw.reason),
    metadata: metadataOf(raw.metadata),
  }
}

export function readCustomer(raw: Raw): Customer {
  return {
    id: textOf(raw.id) ?? '',
    email: textOf(raw.email),
    name: textOf(raw.name),
    description: textOf(raw.description),
    metadata: metadataOf(raw.metadata),
  }
}

/** A reference to another object: its id, or the object itself when it was expanded. */
export function idOf(value: unknown): string | null {
  const id = isObject(value) ? value.id : value
  return isName(id) ? id : null
}

function instantOf(value: unknown): string | null {
  const seconds = numberOf(value)
  const date = seconds === null ? undefined : new Date(seconds * 1000)
  return date && !Number.isNaN(date.getTime()) ? date.toISOString() : null
}
