import type { PageRequest } from '@plinth/kit/database'
import { pageOf } from '@plinth/kit/http'
import type { Payments } from '../payment/context.ts'
import { eventMissing } from '../payment/problems.ts'
import { isName, isObject } from '../provider/values.ts'
import { findEvent, type InboxEvent, listEvents, listEventsToRetry } from './events.repository.ts'
import { type Acknowledgement, acknowledge, type Inbox, receiveEvent } from './receive.ts'

export { countEventsToRetry, EVENT_SORTS } from './events.repository.ts'

export async function pageOfEvents(
  { db }: Payments,
  filter: { status?: string; type?: string },
  page: PageRequest,
) {
  const { events, total } = await listEvents(db, filter, page)
  return pageOf(events.map(eventReply), total, page)
}

function eventReply({ body, ...event }: InboxEvent) {
  return { ...event, sizeBytes: Buffer.byteLength(body) }
}

/** An old event has lost its body. */
const isCleared = ({ body }: InboxEvent) => body === ''

/** The event with its payload as received, except for masked secrets. */
export async function readInboxEvent({ db }: Payments, id: string) {
  const event = await requireEvent(db, id)
  const payload = isCleared(event) ? null : withoutSecrets(JSON.parse(event.body))
  return { ...eventReply(event), payload }
}

const SECRET = /secret|password|token|api_?key/i

/** Masks what looks like a secret, for any provider: some of these secrets let their holder pay. */
function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (!isObject(value)) return value
  const shown = Object.entries(value).map(([name, part]) =>
    SECRET.test(name) && typeof part === 'string' ? [name, '***'] : [name, withoutSecrets(part)],
  )
  return Object.fromEntries(shown)
}

async function requireEvent(db: Payments['db'], id: string): Promise<InboxEvent> {
  const event = isName(id) ? await findEvent(db, id) : undefined
  if (!event) throw eventMissing()
  return event
}

const BATCH = 50

/** Retries failed events that are due, without waiting for the provider to redeliver them. */
export async function retryDueEvents(inbox: Inbox, signal: AbortSignal): Promise<void> {
  for (const event of await listEventsToRetry(inbox.db, inbox.clock(), BATCH)) {
    if (signal.aborted) return
    await redeliver(inbox, event).catch((error) => {
      inbox.log.warn({ err: error, eventId: event.id }, 'an event failed again')
    })
  }
}

/** Retries an event at an operator's request, even a DEAD one. */
export async function retryEvent(inbox: Inbox, id: string): Promise<Acknowledgement> {
  const event = await requireEvent(inbox.db, id)
  return isCleared(event) ? acknowledge(event, true) : redeliver(inbox, event)
}

async function redeliver(inbox: Inbox, { body, source }: InboxEvent) {
  return receiveEvent(inbox, { event: inbox.provider.readStored(body), body, source })
}
