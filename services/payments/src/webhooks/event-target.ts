import {
  findAttemptBySession,
  findPaymentIdByIntent,
} from '../payment/database/attempts.repository.ts'
import { lockName } from '../payment/database/locks.repository.ts'
import { findPayment, findPaymentByReference } from '../payment/database/payments.repository.ts'
import type { Db } from '../payment/database/tables.ts'
import type { EventObject, ProviderEvent } from '../provider/provider.ts'

/**
 * Which payment an event is about; `parkedFor` is the business reference of one that does not exist
 * yet. `owned` when the payment has the event's session or intent, instead of only being named by it.
 */
export type EventTarget = { paymentId: string | null; parkedFor: string | null; owned?: boolean }

const NO_TARGET: EventTarget = { paymentId: null, parkedFor: null }

export async function findEventTarget(
  db: Db,
  { about, metadata }: ProviderEvent,
): Promise<EventTarget> {
  if (about.kind === 'other') return NO_TARGET
  const { paymentId: named, businessReference } = metadata
  const parkedFor = (about.kind === 'session' && businessReference) || null
  const [, owned, payment] = await Promise.all([
    // Another transaction may be inserting the payment: with the lock, the second one sees the first.
    parkedFor === null ? undefined : lockName(db, 'reference', parkedFor),
    findOwner(db, about),
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
