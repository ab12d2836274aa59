import {
  findAttemptBySession,
  findPaymentIdByIntent,
} from '../payment/database/attempts.repository.ts'
import { lockName } from '../payment/database/locks.repository.ts'
import { findPayment, findPaymentByReference } from '../payment/database/payments.repository.ts'
import type { Db } from '../payment/database/tables.ts'
import { idOf, isName, metadataOf, readRefund, readSession } from '../provider/objects.ts'
import { eventMalformed } from '../provider/problems.ts'
import type { CheckoutSession, ProviderEvent, Refund } from '../provider/provider.ts'

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

/** The event types to request when polling the provider's list of events. */
export const POLLED_EVENTS = [...SESSION_EVENTS, ...REFUND_EVENTS, ...HINT_EVENTS]

/** The object of an event, parsed according to its kind. */
export type EventObject =
  | { kind: 'session'; session: CheckoutSession }
  | { kind: 'refund'; refund: Refund }
  | { kind: 'hint'; paymentIntentId: string | null }
  | { kind: 'wrong-mode' }
  | { kind: 'other' }

/** `liveMode` is whether the credential moves real money, if that is known. */
export function readEventObject(event: ProviderEvent, liveMode?: boolean): EventObject {
  const { object, type } = event
  if (liveMode !== undefined && event.liveMode === !liveMode) return { kind: 'wrong-mode' }
  if (SESSION_EVENTS.includes(type))
    return { kind: 'session', session: requireName(readSession(object)) }
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

/**
 * Which payment an event is about; `parkedFor` is the business reference of one that does not exist
 * yet. `owned` when the payment has the event's session or intent, instead of only being named by it.
 */
export type EventTarget = { paymentId: string | null; parkedFor: string | null; owned?: boolean }

const NO_TARGET: EventTarget = { paymentId: null, parkedFor: null }

export async function findEventTarget(
  db: Db,
  event: ProviderEvent,
  object: EventObject,
): Promise<EventTarget> {
  if (object.kind === 'other') return NO_TARGET
  const { paymentId: named, businessReference } = metadataOf(event.object.metadata)
  const parkedFor = (object.kind === 'session' && businessReference) || null
  const [, owned, payment] = await Promise.all([
    // Another transaction may be inserting the payment: with the lock, the second one sees the first.
    parkedFor === null ? undefined : lockName(db, 'reference', parkedFor),
    findOwner(db, object),
    // Another installation may use the same references, so a payment id takes precedence.
    named
      ? findPayment(db, named)
      : businessReference && findPaymentByReference(db, businessReference),
  ])
  if (owned) return owned
  return payment ? { paymentId: payment.id, parkedFor: null } : { paymentId: null, parkedFor }
}

/** The payment that has the event's session or intent, and never loses it. */
export async function findOwner(db: Db, object: EventObject): Promise<EventTarget | undefined> {
  const paymentId = await findOwnerId(db, object)
  return paymentId ? { paymentId, parkedFor: null, owned: true } : undefined
}

async function findOwnerId(db: Db, object: EventObject): Promise<string | undefined> {
  switch (object.kind) {
    case 'session':
      return (await findAttemptBySession(db, object.session.id))?.paymentId
    case 'refund':
      return ownerOfIntent(db, object.refund.paymentIntentId)
    case 'hint':
      return ownerOfIntent(db, object.paymentIntentId)
    case 'wrong-mode':
    case 'other':
      return undefined
  }
}

async function ownerOfIntent(db: Db, paymentIntentId: string | null) {
  return paymentIntentId ? findPaymentIdByIntent(db, paymentIntentId) : undefined
}
