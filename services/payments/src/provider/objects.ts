import { refundStatusOf } from '../payment-state.ts'
import type { CheckoutSession, Customer, Metadata, Refund } from './provider.ts'

type Raw = Record<string, unknown>

/** The provider's objects have one shape in events, replies and look-ups: these readers serve all. */
export function readSession(raw: Raw): CheckoutSession {
  const intent = raw.payment_intent
  return {
    id: textOf(raw.id) ?? '',
    url: textOf(raw.url),
    status: oneOf(raw.status, ['open', 'complete', 'expired']),
    paymentStatus: oneOf(raw.payment_status, ['paid', 'unpaid', 'no_payment_required']),
    paymentIntentId: idOf(intent),
    paymentIntentStatus: isObject(intent) ? textOf(intent.status) : null,
    customerId: idOf(raw.customer),
    amount: numberOf(raw.amount_total),
    currency: textOf(raw.currency)?.toLowerCase() ?? null,
    expiresAt: instantOf(raw.expires_at),
    metadata: metadataOf(raw.metadata),
  }
}

export function readRefund(raw: Raw): Refund {
  return {
    id: textOf(raw.id) ?? '',
    paymentIntentId: idOf(raw.payment_intent),
    amount: numberOf(raw.amount) ?? 0,
    currency: (textOf(raw.currency) ?? '').toLowerCase(),
    status: refundStatusOf(textOf(raw.status)),
    reason: textOf(raw.reason)?.toLowerCase() ?? null,
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

export function isObject(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** A reference to another object: its id, or the object itself when it was expanded. */
export function idOf(value: unknown): string | null {
  return isObject(value) ? textOf(value.id) : textOf(value)
}

function numberOf(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) : null
}

function instantOf(value: unknown): string | null {
  const seconds = numberOf(value)
  const date = seconds === null ? undefined : new Date(seconds * 1000)
  return date && !Number.isNaN(date.getTime()) ? date.toISOString() : null
}

function oneOf<const T extends string>(value: unknown, options: readonly T[]): T | null {
  return options.find((option) => option === value) ?? null
}

export function metadataOf(value: unknown): Metadata {
  if (!isObject(value)) return {}
  const entries = Object.entries(value).filter((entry): entry is [string, string] => {
    return typeof entry[1] === 'string'
  })
  return Object.fromEntries(entries)
}
