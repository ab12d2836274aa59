import type { Db } from '@plinth/kit'
import { applyEvent } from './event-effects.ts'
import { readEventObject } from './event-target.ts'
import { lockReference } from './name-locks.repository.ts'
import { insertObservation, remark } from './observations.repository.ts'
import type { NewPayment } from './payments.repository.ts'
import { readEvent } from './provider/events.ts'
import { metadataOf } from './provider/objects.ts'
import type { PaymentTables } from './tables.ts'
import { listParkedEvents, updateEvent } from './webhook-events.repository.ts'

// A database was lost, or another installation uses the same references.
const ELSEWHERE = {
  note: 'An event names this business reference but another payment.',
  anomaly: 'REFERENCE_USED_ELSEWHERE',
}

/** Applies the events that were waiting for this payment to appear. */
export async function linkParkedEvents(
  db: Db<PaymentTables>,
  { id: paymentId, businessReference }: Pick<NewPayment, 'id' | 'businessReference'>,
  at: Date,
): Promise<void> {
  await lockReference(db, businessReference)
  for (const parked of await listParkedEvents(db, businessReference)) {
    const event = readEvent(JSON.parse(parked.body))
    const about = { source: parked.source, kind: event.type, eventId: event.id, at }
    if (metadataOf(event.object.metadata).paymentId) {
      await insertObservation(db, { ...remark(about), paymentId, ...ELSEWHERE })
      continue
    }
    const object = readEventObject(event)
    const target = { paymentId, parkedFor: null }
    await applyEvent(db, { event, object, target }, about)
    await updateEvent(db, { ...parked, ...target })
  }
}
