import { createHash } from 'node:crypto'
import { isTooDeep } from '@plinth/kit/http'
import { eventMalformed } from './problems.ts'
import type {
  CheckoutSession,
  Customer,
  ListedEvent,
  Metadata,
  ProviderEvent,
  Refund,
  RefundStatus,
} from './provider.ts'

type Raw = Record<string, unknown>

/** A provider object has the same shape in events, replies and look-ups. */
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
    currency: currencyOf(raw.currency),
    expiresAt: instantOf(raw.expires_at),
    metadata: metadataOf(raw.metadata),
  }
}

const MAX_REASON = 64

export function readRefund(raw: Raw): Refund {
  return {
    id: textOf(raw.id) ?? '',
    paymentIntentId: idOf(raw.payment_intent),
    amount: numberOf(raw.amount) ?? 0,
    currency: currencyOf(raw.currency) ?? '',
    status: refundStatusOf(textOf(raw.status)),
    reason: textOf(raw.reason)?.toLowerCase().slice(0, MAX_REASON) ?? null,
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

/** PostgreSQL cannot store NUL: text with it counts as absent. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0')
}

function textOf(value: unknown): string | null {
  return isText(value) && value !== '' ? value : null
}

const MAX_CURRENCY = 8

/** One that cannot be stored must not count as absent, which would mean that it is the expected one. */
function currencyOf(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null
  return value.toLowerCase().replaceAll('\0', '\ufffd').slice(0, MAX_CURRENCY)
}

/** A reference to another object: its id, or the object itself when it was expanded. */
export function idOf(value: unknown): string | null {
  const id = isObject(value) ? value.id : value
  return isName(id) ? id : null
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
  const entries = isObject(value) ? Object.entries(value) : []
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => isText(entry[1])))
}

/** An unknown status counts as pending: it reserves the amount, but moves no money. */
export function refundStatusOf(text: string | null | undefined): RefundStatus {
  const known = ['requires_action', 'pending', 'succeeded', 'failed', 'canceled'] as const
  return oneOf(text?.toLowerCase(), known) ?? 'pending'
}

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

// PostgreSQL cannot store NUL or a lone surrogate.
const NAME = /^[^\p{Cc}\p{Cs}]{1,255}$/u

/** Parses the bytes of a verified delivery into the event and the text to store. */
export function parseEvent(bytes: Uint8Array): { event: ProviderEvent; body: string } {
  const { raw, body } = parseJson(bytes)
  return { event: readEvent(raw), body }
}

function parseJson(bytes: Uint8Array): { raw: unknown; body: string } {
  try {
    const body = DECODER.decode(bytes)
    if (isTooDeep(body)) throw new Error('The event is nested too deeply.')
    return { raw: JSON.parse(body), body }
  } catch (cause) {
    throw eventMalformed({ cause })
  }
}

export function readEvent(raw: unknown): ProviderEvent {
  if (!isEvent(raw)) throw eventMalformed()
  return {
    id: raw.id,
    type: raw.type,
    liveMode: typeof raw.livemode === 'boolean' ? raw.livemode : null,
    object: raw.data.object,
  }
}

type Envelope = { id: string; type: string; livemode?: unknown; data: { object: Raw } }

function isEvent(raw: unknown): raw is Envelope {
  if (!isObject(raw)) return false
  const { id, type, object = 'event', data } = raw
  return isName(id) && isName(type) && object === 'event' && isObject(data) && isObject(data.object)
}

/** Listed events are not signed, and an unreadable one must not hide the others. */
export function readListedEvent(raw: unknown): ListedEvent {
  const body = JSON.stringify(raw)
  const { id, type } = isObject(raw) ? raw : {}
  return {
    id: isName(id) ? id : `unreadable:${createHash('sha256').update(body).digest('hex')}`,
    type: isName(type) ? type : 'unreadable',
    event: isEvent(raw) ? readEvent(raw) : undefined,
    body,
  }
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && NAME.test(value)
}
