import type { Acknowledgement } from './deliveries.ts'
import type { Payments } from './payments.ts'
import { eventMissing } from './problems.ts'
import { isName, readEvent } from './provider/events.ts'
import { findEvent, type InboxEvent, listEventsToRetry } from './webhook-events.repository.ts'
import { receiveEvent } from './webhooks.ts'

const BATCH = 50

/** Tries again, without waiting for the provider, what failed and is due. */
export async function retryDueEvents(payments: Payments, signal: AbortSignal): Promise<void> {
  for (const event of await listEventsToRetry(payments.db, payments.clock(), BATCH)) {
    if (signal.aborted) return
    await redeliver(payments, event).catch((error) => {
      payments.log.warn({ err: error, eventId: event.id }, 'an event failed again')
    })
  }
}

/** A person asks for another try, also of an event that was given up. */
export async function retryEvent(payments: Payments, id: string): Promise<Acknowledgement> {
  const event = isName(id) ? await findEvent(payments.db, id) : undefined
  if (!event) throw eventMissing()
  return redeliver(payments, event)
}

async function redeliver(
  payments: Payments,
  { body, source }: InboxEvent,
): Promise<Acknowledgement> {
  return receiveEvent(payments, { event: readEvent(JSON.parse(body)), body, source })
}
