import type { Db } from '@plinth/kit'
import { findPaymentIdByIntent, findPaymentIdBySession } from './attempts.repository.ts'
import { eventKindOf } from './event-kinds.ts'
import { lockReference } from './name-locks.repository.ts'
import { findPayment, findPaymentByReference } from './payments.repository.ts'
import { eventMalformed } from './problems.ts'
import { isName } from './provider/events.ts'
import { idOf, metadataOf, readRefund, readSession } from './provider/objects.ts'
import type { CheckoutSession, ProviderEvent, Refund } from './provider/provider.ts'
import type { PaymentTables } from './tables.ts'

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
