import { type Db, failPoint, inTransaction } from '@plinth/kit'
import type { Payments } from '../payment/context.ts'
import {
  type About,
  insertObservation,
  type Observation,
  remark,
} from '../payment/database/observations.repository.ts'
import { updateNextCheck } from '../payment/database/payments.repository.ts'
import type { PaymentTables } from '../payment/database/tables.ts'
import { attemptStateOf, observeRefund, observeSession } from '../payment/observe.ts'
import { eventFailed, InconsistentObservation } from '../payment/problems.ts'
import type { CheckoutSession, ProviderEvent, Refund } from '../provider/provider.ts'
import {
  type EventObject,
  type EventTarget,
  findEventTarget,
  readEventObject,
} from './event-target.ts'
import {
  claimEvent,
  findEventForUpdate,
  type InboxEvent,
  updateEvent,
} from './events.repository.ts'
import { type Delivery, hasFailed, newClaim, recordFailedEvent } from './failed-events.ts'

export type Acknowledgement = {
  eventId: string
  eventType: string
  status: 'PROCESSED' | 'IGNORED'
  duplicate: boolean
}

/** Joins one proven event to the payment it is about, inside the caller's transaction. */
async function applyEvent(
  db: Db<PaymentTables>,
  { event, object, target }: { event: ProviderEvent; object: EventObject; target: EventTarget },
  about: About,
): Promise<void> {
  if (object.kind === 'session') await applySession(db, event, object.session, target, about)
  if (object.kind === 'refund') await applyRefund(db, object.refund, target, about)
  if (object.kind === 'hint') await lookAgainAt(db, target, about)
  if (object.kind === 'wrong-mode') await insertObservation(db, wrongMode(target, about))
}

async function applySession(
  db: Db<PaymentTables>,
  event: ProviderEvent,
  session: CheckoutSession,
  { paymentId }: EventTarget,
  about: About,
): Promise<void> {
  const state = attemptStateOf(session, event.type)
  if (paymentId) await observeSession(db, { paymentId, session, state }, about)
}

async function applyRefund(
  db: Db<PaymentTables>,
  refund: Refund,
  target: EventTarget,
  about: About,
): Promise<void> {
  const ownerId = target.owned ? target.paymentId : null
  const ledger = await observeRefund(db, refund, about, ownerId)
  // Its intent is not known yet, but the payment is: the session will tell the rest.
  if (!ledger) return lookAgainAt(db, target, { ...about, subject: refund.id })
  const counted = ledger.refunds.find(({ id }) => id === refund.id)?.status === 'succeeded'
  if (counted && ledger.payment.anomalies.includes('REFUNDED_BEYOND_AMOUNT'))
    throw new InconsistentObservation(
      'REFUNDED_BEYOND_AMOUNT',
      ledger.payment.id,
      `With refund ${refund.id} more than the amount of the payment would be refunded.`,
    )
}

async function lookAgainAt(
  db: Db<PaymentTables>,
  { paymentId }: EventTarget,
  about: About,
): Promise<void> {
  if (!paymentId) return
  await updateNextCheck(db, paymentId, { nextCheckAt: about.at, checks: 0 })
  const note = 'The provider is asked again.'
  await insertObservation(db, { ...remark(about), paymentId, note })
}

/** An event of the other mode moves no money here, whatever it says. */
function wrongMode({ paymentId }: EventTarget, about: About): Observation {
  const note = 'A live event on a test credential, or the other way round.'
  return { ...remark(about), paymentId, note, anomaly: 'LIVE_MODE_DIFFERS' }
}

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
