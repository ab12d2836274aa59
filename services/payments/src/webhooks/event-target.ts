import type { Db } from '@plinth/kit'
import {
  findPaymentIdByIntent,
  findPaymentIdBySession,
} from '../payment/database/attempts.repository.ts'
import { lockReference } from '../payment/database/locks.repository.ts'
import { findPayment, findPaymentByReference } from '../payment/database/payments.repository.ts'
import type { PaymentTables } from '../payment/database/tables.ts'
import { idOf, isName, metadataOf, readRefund, readSession } from '../provider/objects.ts'
import { eventMalformed } from '../provider/problems.ts'
import type { CheckoutSession, ProviderEvent, Refund } from '../provider/provider.ts'

/** The object of an event, understood as far as its kind allows. */
export type EventObject =
  | { kind: 'session'; session: CheckoutSession }
  | { kind: 'refund'; refund: Refund }
  | { kind: 'hint'; paymentIntentId: string | null }
  | { kind: 'wrong-mode' }
  | { kind: 'other' }

/** `liveMode` tells whether the credential moves real money, where it says so. */
export function readEventObject(event: ProviderEvent, liveMode?: boolean): EventObject {
  const { object } = event
  const kind = eventKindOf(event.type)
  if (liveMode !== undefined && event.liveMode === !liveMode) return { kind: 'wrong-mode' }
  if (kind === 'session') return { kind, session: named(readSession(object)) }
  if (kind === 'refund') return { kind, refund: positive(named(readRefund(object))) }
  if (kind === 'hint')
    return { kind, paymentIntentId: idOf(object.payment_intent) ?? idOf(object.id) }
  return { kind }
}

function named<T extends { id: string }>(object: T): T {
  if (!isName(object.id)) throw eventMalformed()
  return object
}

function positive(refund: Refund): Refund {
  if (refund.amount <= 0) throw eventMalformed()
  return refund
}

/**
 * Which payment an event is about; `parkedFor` names one that is not here yet. `owned` when it has
 * the event's session or intent, which it never loses, and is not only named by the event.
 */
export type EventTarget = { paymentId: string | null; parkedFor: string | null; owned?: boolean }

export async function findEventTarget(
  db: Db<PaymentTables>,
  event: ProviderEvent,
  object: EventObject,
): Promise<EventTarget> {
  if (object.kind === 'other') return { paymentId: null, parkedFor: null }
  const owner = await findByObject(db, object)
  if (owner) return { paymentId: owner, parkedFor: null, owned: true }
  const { paymentId: named, businessReference } = metadataOf(event.object.metadata)
  const paymentId =
    (named && (await findPayment(db, named))?.id) ??
    // Another installation may use the same references: its payments name themselves.
    (!named && businessReference && (await findPaymentByReference(db, businessReference))?.id)
  if (paymentId) return { paymentId, parkedFor: null }
  if (object.kind !== 'session' || !businessReference) return { paymentId: null, parkedFor: null }
  return parkFor(db, businessReference, named)
}

/** The payment may be being inserted right now: whoever comes second sees the first. */
async function parkFor(
  db: Db<PaymentTables>,
  businessReference: string,
  named: string | undefined,
): Promise<EventTarget> {
  await lockReference(db, businessReference)
  const inserted = await findPaymentByReference(db, businessReference)
  if (inserted && (!named || named === inserted.id))
    return { paymentId: inserted.id, parkedFor: null }
  return { paymentId: null, parkedFor: businessReference }
}

async function findByObject(db: Db<PaymentTables>, object: EventObject) {
  if (object.kind === 'session') return findPaymentIdBySession(db, object.session.id)
  const intent = object.kind === 'refund' ? object.refund.paymentIntentId : intentOf(object)
  return intent ? findPaymentIdByIntent(db, intent) : undefined
}

function intentOf(object: EventObject): string | null {
  return object.kind === 'hint' ? object.paymentIntentId : null
}

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

type EventKind = 'session' | 'refund' | 'hint' | 'other'

function eventKindOf(type: string): EventKind {
  if (SESSION_EVENTS.includes(type)) return 'session'
  if (REFUND_EVENTS.includes(type)) return 'refund'
  return type === 'charge.refunded' || type.startsWith('payment_intent.') ? 'hint' : 'other'
}

/** What to ask for when the provider's list of events is read. */
export const POLLED_EVENTS = [...SESSION_EVENTS, ...REFUND_EVENTS, ...HINT_EVENTS]
