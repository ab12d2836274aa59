import { type PageRequest, pageOf } from '@plinth/kit'
import type { Payments } from '../payment/context.ts'
import { eventMissing } from '../payment/problems.ts'
import { matchesNothing } from '../payment/reads/payments.ts'
import { isName, readEvent } from '../provider/objects.ts'
import { findEvent, type InboxEvent, listEvents, listEventsToRetry } from './events.repository.ts'
import { type Acknowledgement, receiveEvent } from './receive.ts'

export { countEventsToRetry, EVENT_SORTS } from './events.repository.ts'

export async function pageOfEvents(
  { db }: Payments,
  filter: { status?: string; type?: string },
  page: PageRequest,
) {
  if (matchesNothing(filter)) return pageOf([], 0, page)
  const { events, total } = await listEvents(db, filter, page)
  return pageOf(events.map(eventReply), total, page)
}

function eventReply({ body, ...event }: InboxEvent) {
  return { ...event, sizeBytes: Buffer.byteLength(body) }
}

const BATCH = 50

/** Retries what failed and is due, without waiting for the provider to redeliver it. */
export async function retryDueEvents(payments: Payments, signal: AbortSignal): Promise<void> {
  for (const event of await listEventsToRetry(payments.db, payments.clock(), BATCH)) {
    if (signal.aborted) return
    await redeliver(payments, event).catch((error) => {
      payments.log.warn({ err: error, eventId: event.id }, 'an event failed again')
    })
  }
}

/** Retries an event at the request of a person, also one that is DEAD. */
export async function retryEvent(payments: Payments, id: string): Promise<Acknowledgement> {
  const event = isName(id) ? await findEvent(payments.db, id) : undefined
  if (!event) throw eventMissing()
  return redeliver(payments, event)
}

async function redeliver(payments: Payments, { body, source }: InboxEvent) {
  return receiveEvent(payments, { event: readEvent(JSON.parse(body)), body, source })
}
