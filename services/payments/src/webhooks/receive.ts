import { failPoint, inTransaction } from '@plinth/kit'
import type { Payments, Recording } from '../payment/context.ts'
import {
  insertObservation,
  type ObservationSource,
} from '../payment/database/observations.repository.ts'
import { updateNextCheck } from '../payment/database/payments.repository.ts'
import type { Db } from '../payment/database/tables.ts'
import { observeRefund, observeSession, sessionStateOf } from '../payment/observe.ts'
import { eventFailed, InconsistentObservation } from '../payment/problems.ts'
import type { ProviderEvent, Refund } from '../provider/provider.ts'
import {
  type EventObject,
  type EventTarget,
  findEventTarget,
  readEventObject,
} from './event-target.ts'
import {
  type ArrivedEvent,
  claimEvent,
  findEventForUpdate,
  type InboxEvent,
  newInboxEvent,
  updateEvent,
} from './events.repository.ts'
import { hasFailed, recordFailedEvent } from './failed-events.ts'

type Delivery = ArrivedEvent & { event: ProviderEvent }

export type Acknowledgement = {
  eventId: string
  eventType: string
  status: 'PROCESSED' | 'IGNORED'
  duplicate: boolean
}

/**
 * Takes in one proven event. The claim and its effects commit together: a crash half-way leaves
 * neither, so no claim is ever held by a dead process, and the next delivery starts clean. Racing
 * deliveries of one event wait for each other at the claim.
 */
export async function receiveEvent(payments: Payments, delivery: Delivery) {
  const object = readEventObject(delivery.event, payments.provider?.liveMode)
  const at = payments.clock()
  try {
    const acknowledged = await inTransaction(payments.db, (db) =>
      claimAndApply({ ...payments, db }, delivery, object, at),
    )
    failPoint('webhook:committed')
    if (object.kind === 'hint') payments.wake()
    return acknowledged
  } catch (error) {
    await recordFailedEvent(payments, delivery, error).catch((second) => {
      const message = 'An event could not be processed, nor kept for another try.'
      throw new AggregateError([error, second], message, { cause: error })
    })
    throw eventFailed({ cause: error })
  }
}

async function claimAndApply(
  recording: Recording,
  delivery: Delivery,
  object: EventObject,
  at: Date,
): Promise<Acknowledgement> {
  const { db } = recording
  const { event, source } = delivery
  const target = await findEventTarget(db, event, object)
  const { paymentId, parkedFor } = target
  const isIgnored = object.kind === 'other' || object.kind === 'wrong-mode'
  const status = isIgnored ? ('IGNORED' as const) : ('PROCESSED' as const)
  const claim = { ...newInboxEvent(delivery, at), paymentId, parkedFor, status }
  const claimed = await claimEvent(db, claim)
  failPoint('webhook:claimed')
  const known = claimed ? claim : ((await findEventForUpdate(db, event.id)) ?? claim)
  if (!claimed && !hasFailed(known)) return acknowledge(known, true)

  const from = { source, kind: event.type, eventId: event.id, at }
  await applyEvent(recording, object, target, from)
  const { receivedAt, tries } = known
  if (!claimed)
    await updateEvent(db, { ...claim, source: known.source, receivedAt, tries: tries + 1 })
  failPoint('webhook:applied')
  return acknowledge(claim, !claimed)
}

function acknowledge(event: InboxEvent, duplicate: boolean): Acknowledgement {
  const status = event.status === 'IGNORED' ? 'IGNORED' : 'PROCESSED'
  return { eventId: event.id, eventType: event.type, status, duplicate }
}

/** Joins one proven event to the payment it is about, inside the caller's transaction. */
async function applyEvent(
  recording: Recording,
  object: EventObject,
  target: EventTarget,
  source: ObservationSource,
): Promise<void> {
  const { db } = recording
  const { paymentId } = target
  switch (object.kind) {
    case 'session': {
      const { session } = object
      const state = sessionStateOf(session, source.kind)
      return paymentId
        ? observeSession(recording, { paymentId, session, state }, source)
        : undefined
    }
    case 'refund':
      return applyRefund(recording, object.refund, target, source)
    case 'hint':
      return scheduleCheck(db, target, source)
    case 'wrong-mode': {
      // An event of the other mode moves no money here, whatever it says.
      const note = 'A live event on a test credential, or the other way round.'
      return insertObservation(db, source, { paymentId, note, anomaly: 'LIVE_MODE_DIFFERS' })
    }
    case 'other':
      return
  }
}

async function applyRefund(
  recording: Recording,
  refund: Refund,
  target: EventTarget,
  source: ObservationSource,
): Promise<void> {
  const ownerId = target.owned ? target.paymentId : null
  const record = await observeRefund(recording, refund, source, ownerId)
  // Its intent is not known yet, but the payment is: the session will show the rest.
  if (!record) return scheduleCheck(recording.db, target, { ...source, subject: refund.id })
  const anomaly = 'REFUNDED_BEYOND_AMOUNT'
  const counted = record.refunds.find(({ id }) => id === refund.id)?.status === 'succeeded'
  if (!counted || !record.payment.anomalies.includes(anomaly)) return
  const message = `With refund ${refund.id} more than the amount of the payment would be refunded.`
  throw new InconsistentObservation(anomaly, record.payment.id, message)
}

async function scheduleCheck(
  db: Db,
  { paymentId }: EventTarget,
  source: ObservationSource,
): Promise<void> {
  if (!paymentId) return
  await updateNextCheck(db, paymentId, { nextCheckAt: source.at, checks: 0 })
  await insertObservation(db, source, { paymentId, note: 'The provider is asked again.' })
}
