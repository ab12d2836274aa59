import { createHash } from 'node:crypto'
import { eventMalformed } from './problems.ts'
import {
  type CheckoutSession,
  type Customer,
  type ListedEvent,
  type Metadata,
  type ProviderEvent,
  REFUND_STATUSES,
  type Refund,
  type RefundStatus,
} from './provider.ts'

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

/** A status this version does not know yet counts as pending: it reserves, but moves no money. */
export function refundStatusOf(text: string | null | undefined): RefundStatus {
  const lower = text?.toLowerCase()
  return REFUND_STATUSES.find((status) => status === lower) ?? 'pending'
}

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

// PostgreSQL cannot store NUL, nor half a character.
const NAME = /^[^\p{Cc}\p{Cs}]{1,255}$/u

/** The bytes of a proven delivery as an event, and as the text that is kept. */
export function parseEvent(bytes: Uint8Array): { event: ProviderEvent; body: string } {
  const { raw, body } = parseJson(bytes)
  return { event: readEvent(raw), body }
}

function parseJson(bytes: Uint8Array): { raw: unknown; body: string } {
  try {
    const body = DECODER.decode(bytes)
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
    created: typeof raw.created === 'number' ? raw.created : 0,
    liveMode: typeof raw.livemode === 'boolean' ? raw.livemode : null,
    object: raw.data.object,
  }
}

type Envelope = {
  id: string
  type: string
  created?: unknown
  livemode?: unknown
  data: { object: Record<string, unknown> }
}

function isEvent(raw: unknown): raw is Envelope {
  if (!isObject(raw)) return false
  const { id, type, object = 'event', data } = raw
  return isName(id) && isName(type) && object === 'event' && isObject(data) && isObject(data.object)
}

/** Nobody signed for an event of a list, so one that makes no sense must not hide the others. */
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
