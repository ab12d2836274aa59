import type { Recording } from '../payment/context.ts'
import { lockName } from '../payment/database/locks.repository.ts'
import {
  insertObservation,
  type ObservationSource,
} from '../payment/database/observations.repository.ts'
import { findPaymentByReference, type NewPayment } from '../payment/database/payments.repository.ts'
import type { Db } from '../payment/database/tables.ts'
import { lockSession, observeSession } from '../payment/observe-session.ts'
import { InconsistentObservation } from '../payment/problems.ts'
import type { CheckoutSession, PaymentProvider } from '../provider/provider.ts'
import { type InboxEvent, listParkedEvents, updateEvent } from './events.repository.ts'
import { failedEvent } from './failed-events.ts'

// Happens when a database was lost, or when another installation uses the same references.
const ELSEWHERE = {
  note: 'An event names this business reference but another payment.',
  anomaly: 'REFERENCE_USED_ELSEWHERE',
}

/**
 * Applies the events that were parked for this payment, inside the caller's transaction: one of the
 * sessions may already be paid. Only session events are ever parked.
 */
export async function linkParkedEvents(
  recording: Recording & { provider: PaymentProvider },
  { id: paymentId, businessReference }: Pick<NewPayment, 'id' | 'businessReference'>,
  at: Date,
): Promise<void> {
  const { db, provider } = recording
  await lockName(db, 'reference', businessReference)
  for (const parked of await listParkedEvents(db, businessReference)) {
    const { about, metadata } = provider.readStored(parked.body)
    if (about.kind !== 'session') continue
    const source = { source: parked.source, kind: parked.type, eventId: parked.id, at }
    if (metadata.paymentId) await insertObservation(db, source, { paymentId, ...ELSEWHERE })
    else await link(recording, about.session, { ...parked, paymentId, parkedFor: null }, source)
  }
}

/** Shows an event that names another payment in the timeline of the payment that has its reference here. */
export async function recordForeignEvent(
  db: Db,
  { metadata: { paymentId: named, businessReference } }: CheckoutSession,
  source: ObservationSource,
): Promise<void> {
  // By its reference alone, the event would have found the payment.
  if (!named || !businessReference) return
  const payment = await findPaymentByReference(db, businessReference)
  if (payment) await insertObservation(db, source, { paymentId: payment.id, ...ELSEWHERE })
}

/** An event that contradicts the payment is rejected before anything is written, and must not prevent it. */
async function link(
  recording: Recording,
  session: CheckoutSession,
  parked: InboxEvent & { paymentId: string },
  source: ObservationSource,
): Promise<void> {
  const { db } = recording
  try {
    const seen = { paymentId: parked.paymentId, session }
    const locked = await lockSession(db, seen)
    if (locked) await observeSession(recording, locked, seen, source)
    await updateEvent(db, parked)
  } catch (error) {
    if (!(error instanceof InconsistentObservation)) throw error
    await updateEvent(db, failedEvent(parked, error, source.at))
    const { paymentId, anomaly, message: note } = error
    await insertObservation(db, source, { paymentId, anomaly, note })
  }
}
