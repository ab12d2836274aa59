import { databaseFault, engineOf, inTransaction } from '@plinth/kit/database'
import { failPoint } from '@plinth/kit/runtime'
import type { Payments, Recording } from '../payment/context.ts'
import {
  insertObservation,
  type ObservationSource,
} from '../payment/database/observations.repository.ts'
import { updateNextCheck } from '../payment/database/payments.repository.ts'
import type { Db } from '../payment/database/tables.ts'
import { type LockedRefund, lockRefund, observeRefund } from '../payment/observe-refund.ts'
import { lockSession, observeSession, type SeenSession } from '../payment/observe-session.ts'
import { eventFailed, InconsistentObservation } from '../payment/problems.ts'
import type { PaymentRecord } from '../payment/record.ts'
import type { CheckoutSession, EventObject, ProviderEvent, Refund } from '../provider/provider.ts'
import { type EventTarget, findEventTarget, findOwner } from './event-target.ts'
import {
  type ArrivedEvent,
  claimEvent,
  findEventForUpdate,
  type InboxEvent,
  newInboxEvent,
  updateEvent,
} from './events.repository.ts'
import { hasFailed, recordFailedEvent } from './failed-events.ts'
import { recordForeignEvent } from './parked-events.ts'

/** What receiving events needs besides payments: an event may be a reason to ask the provider again. */
export type Inbox = Payments & {
  /** Runs the reconciliation now instead of at its next interval. */
  wake: () => void
}

type Delivery = ArrivedEvent & { event: ProviderEvent }

export type Acknowledgement = {
  eventId: string
  eventType: string
  status: 'PROCESSED' | 'IGNORED'
  duplicate: boolean
}

/**
 * Processes one verified event. The claim and its effects commit together: a crash half-way leaves
 * neither, so no claim is ever held by a dead process, and the next delivery starts clean. Concurrent
 * deliveries of one event wait for each other at the claim.
 */
export async function receiveEvent(inbox: Inbox, delivery: Delivery) {
  const { wake, ...payments } = inbox
  const { about } = delivery.event
  const at = payments.clock()
  try {
    // Outside the transaction PostgreSQL answers several events at once; SQLite would only read twice as much.
    const owner =
      engineOf(payments.db) === 'postgres' ? await findOwner(payments.db, about) : undefined
    const work = async (db: Db) => {
      const target = owner ?? (await findEventTarget(db, delivery.event))
      return claimAndApply({ ...payments, db }, delivery, { target, at })
    }
    const groupKey = owner?.paymentId ?? undefined
    const acknowledged = await inTransaction(payments.db, work, { groupKey })
    failPoint('webhook:committed')
    // Without a credential the job would do nothing, and meanwhile keep another node from running it.
    if (about.kind === 'hint' && payments.provider.calls) wake()
    return acknowledged
  } catch (error) {
    await recordFailedEvent(payments, delivery, error).catch((second) => {
      if (databaseFault(error) && databaseFault(second)) throw second
      const message = 'An event could neither be processed nor stored for a retry.'
      throw new AggregateError([error, second], message, { cause: error })
    })
    throw eventFailed({ cause: error })
  }
}

type Effect = { target: EventTarget; at: Date }

async function claimAndApply(
  recording: Recording,
  delivery: Delivery,
  { target, at }: Effect,
): Promise<Acknowledgement> {
  const { db } = recording
  const { event, source } = delivery
  const { paymentId, parkedFor } = target
  const isIgnored = event.about.kind === 'other' || event.about.kind === 'wrong-mode'
  const status = isIgnored ? ('IGNORED' as const) : ('PROCESSED' as const)
  const claim = { ...newInboxEvent(delivery, at), paymentId, parkedFor, status }
  const from = { source, kind: event.type, eventId: event.id, at }
  // The locks share the claim's round trip; an event that was claimed before does not use them.
  const [claimed, locked] = await Promise.all([
    claimEvent(db, claim),
    lockTarget(db, event.about, target),
  ])
  failPoint('webhook:claimed')
  const known = claimed ? claim : ((await findEventForUpdate(db, event.id)) ?? claim)
  if (!claimed && !hasFailed(known)) return acknowledge(known, true)

  await applyEvent(recording, locked, target, from)
  const { receivedAt, tries } = known
  if (!claimed)
    await updateEvent(db, { ...claim, source: known.source, receivedAt, tries: tries + 1 })
  failPoint('webhook:applied')
  return acknowledge(claim, !claimed)
}

export function acknowledge(event: InboxEvent, duplicate: boolean): Acknowledgement {
  const status = event.status === 'IGNORED' ? 'IGNORED' : 'PROCESSED'
  return { eventId: event.id, eventType: event.type, status, duplicate }
}

/** The object of an event with the rows that it is joined to. */
type LockedObject =
  | { kind: 'session'; seen: SeenSession; record: PaymentRecord | undefined }
  | { kind: 'foreign'; session: CheckoutSession }
  | { kind: 'refund'; refund: Refund; locked: LockedRefund }
  | Exclude<EventObject, { kind: 'session' | 'refund' }>

/** Takes the locks that an event needs. */
async function lockTarget(
  db: Db,
  object: EventObject,
  { paymentId, owned }: EventTarget,
): Promise<LockedObject> {
  switch (object.kind) {
    case 'session': {
      const { session } = object
      if (!paymentId) return { kind: 'foreign', session }
      const seen = { paymentId, session }
      return { kind: 'session', seen, record: await lockSession(db, seen) }
    }
    case 'refund': {
      const { refund } = object
      return { ...object, locked: await lockRefund(db, refund, owned ? paymentId : null) }
    }
    default:
      return object
  }
}

/** Joins an event to its payment. */
async function applyEvent(
  recording: Recording,
  object: LockedObject,
  target: EventTarget,
  source: ObservationSource,
): Promise<void> {
  const { db } = recording
  switch (object.kind) {
    case 'session':
      if (object.record) await observeSession(recording, object.record, object.seen, source)
      return
    case 'foreign':
      return recordForeignEvent(db, object.session, source)
    case 'refund': {
      const { refund, locked } = object
      const record = await observeRefund(recording, locked, refund, source)
      if (record) return requireCovered(record, refund)
      // The intent is not known yet, but the payment is: looking up its session will show the rest.
      return scheduleCheck(db, target, { ...source, subject: refund.id })
    }
    case 'hint':
      return scheduleCheck(db, target, source)
    case 'wrong-mode': {
      // An event of the other mode must move no money here, whatever it contains.
      const note = 'A live event on a test credential, or the other way round.'
      const { paymentId } = target
      return insertObservation(db, source, { paymentId, note, anomaly: 'LIVE_MODE_DIFFERS' })
    }
  }
}

function requireCovered({ payment, refunds }: PaymentRecord, { id: refundId }: Refund): void {
  const anomaly = 'REFUNDED_BEYOND_AMOUNT'
  const counted = refunds.find(({ id }) => id === refundId)?.status === 'succeeded'
  if (!counted || !payment.anomalies.includes(anomaly)) return
  const message = `Refund ${refundId} would bring the refunds above the amount of the payment.`
  throw new InconsistentObservation(anomaly, payment.id, message)
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
