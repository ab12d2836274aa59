import { createHash } from 'node:crypto'
import { eventMalformed } from '../problems.ts'
import type { EventObject, ListedEvent, ProviderEvent, Refund } from '../provider.ts'
import { isName, isObject, metadataOf, type Raw } from '../values.ts'
import { idOf, readRefund, readSession } from './objects.ts'

const SESSION_EVENTS = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
]

const REFUND_EVENTS = ['refund.created', 'refund.updated', 'refund.failed']

/** These move no money by themselves; they are a reason to ask the provider again. */
const HINT_EVENTS = [
  'charge.refunded',
  'payment_intent.succeeded',
  'payment_intent.processing',
  'payment_intent.payment_failed',
  'payment_intent.canceled',
]

/** The event types to request when polling the list of events. */
export const POLLED_EVENTS = [...SESSION_EVENTS, ...REFUND_EVENTS, ...HINT_EVENTS]

type Envelope = { id: string; type: string; livemode?: unknown; data: { object: Raw } }

/** `liveMode` is whether the credential moves real money, if that is known. */
export function readEvent(raw: unknown, liveMode: boolean | undefined): ProviderEvent {
  if (!isEvent(raw)) throw eventMalformed()
  const { id, type, livemode, data } = raw
  const isOtherMode = liveMode !== undefined && livemode === !liveMode
  const about: EventObject = isOtherMode ? { kind: 'wrong-mode' } : readObject(type, data.object)
  return { id, type, about, metadata: metadataOf(data.object.metadata) }
}

function isEvent(raw: unknown): raw is Envelope {
  if (!isObject(raw)) return false
  const { id, type, object = 'event', data } = raw
  return isName(id) && isName(type) && object === 'event' && isObject(data) && isObject(data.object)
}

function readObject(type: string, object: Raw): EventObject {
  if (SESSION_EVENTS.includes(type))
    return { kind: 'session', session: requireName(readSession(object, type)) }
  if (REFUND_EVENTS.includes(type))
    return { kind: 'refund', refund: requirePositive(requireName(readRefund(object))) }
  if (type === 'charge.refunded' || type.startsWith('payment_intent.'))
    return { kind: 'hint', paymentIntentId: idOf(object.payment_intent) ?? idOf(object.id) }
  return { kind: 'other' }
}

function requireName<T extends { id: string }>(object: T): T {
  if (!isName(object.id)) throw eventMalformed()
  return object
}

function requirePositive(refund: Refund): Refund {
  if (refund.amount <= 0) throw eventMalformed()
  return refund
}

/** Listed events are not signed, and an unreadable one must not hide the others. */
export function readListedEvent(raw: unknown, liveMode: boolean | undefined): ListedEvent {
  const body = JSON.stringify(raw)
  const { id, type } = isObject(raw) ? raw : {}
  return {
    id: isName(id) ? id : `unreadable:${createHash('sha256').update(body).digest('hex')}`,
    type: isName(type) ? type : 'unreadable',
    event: readable(raw, liveMode),
    body,
  }
}

function readable(raw: unknown, liveMode: boolean | undefined): ProviderEvent | undefined {
  try {
    return readEvent(raw, liveMode)
  } catch (error) {
    if (!eventMalformed.is(error)) throw error
    return undefined
  }
}
