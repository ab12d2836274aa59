import { type Db, failPoint, inTransaction } from '@plinth/kit'
import { type Acknowledgement, type Delivery, newClaim } from './deliveries.ts'
import { applyEvent } from './event-effects.ts'
import { type EventObject, findEventTarget, readEventObject } from './event-target.ts'
import { hasFailed, recordFailedEvent } from './failed-events.ts'
import type { Payments } from './payments.ts'
import { eventFailed } from './problems.ts'
import type { PaymentTables } from './tables.ts'
import {
  claimEvent,
  findEventForUpdate,
  type InboxEvent,
  updateEvent,
} from './webhook-events.repository.ts'

/**
 * Takes in one proven event. The claim and its effects commit together: a crash half-way leaves
 * neither, so no claim can be held by the dead, and the next delivery starts clean. Racing
 * deliveries of one event wait for each other at the claim.
 */
export async function receiveEvent(
  payments: Payments,
  delivery: Delivery,
): Promise<Acknowledgement> {
  const object = readEventObject(delivery.event, payments.provider?.liveMode)
  const at = payments.clock()
  try {
    const acknowledged = await inTransaction(payments.db, (db) =>
      claimAndApply(db, delivery, object, at),
    )
    failPoint('webhook:committed')
    if (object.kind === 'hint') payments.wake()
    return acknowledged
  } catch (error) {
    await recordFailedEvent(payments, delivery, error)
    throw eventFailed({ cause: error })
  }
}

async function claimAndApply(
  db: Db<PaymentTables>,
  delivery: Delivery,
  object: EventObject,
  at: Date,
): Promise<Acknowledgement> {
  const { event, source } = delivery
  const target = await findEventTarget(db, event, object)
  const claim = { ...newClaim(delivery, at), ...target, status: statusFor(object) }
  const claimed = await claimEvent(db, claim)
  failPoint('webhook:claimed')
  const known = claimed ? claim : ((await findEventForUpdate(db, event.id)) ?? claim)
  if (!claimed && !hasFailed(known)) return acknowledge(known, true)

  await applyEvent(
    db,
    { event, object, target },
    { source, kind: event.type, eventId: event.id, at },
  )
  if (!claimed) await updateEvent(db, { ...claim, ...pastOf(known) })
  failPoint('webhook:applied')
  return acknowledge(claim, !claimed)
}

function statusFor({ kind }: EventObject): 'PROCESSED' | 'IGNORED' {
  return kind === 'other' || kind === 'wrong-mode' ? 'IGNORED' : 'PROCESSED'
}

function pastOf({ source, receivedAt, tries }: InboxEvent) {
  return { source, receivedAt, tries: tries + 1 }
}

function acknowledge(event: InboxEvent, duplicate: boolean): Acknowledgement {
  const status = event.status === 'IGNORED' ? 'IGNORED' : 'PROCESSED'
  return { eventId: event.id, eventType: event.type, status, duplicate }
}
