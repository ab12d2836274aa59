import { inTransaction } from '@plinth/kit/database'
import { validationFailed } from '@plinth/kit/problems'
import { findEndpoint, listEndpoints } from '../database/endpoints.repository.ts'
import {
  type Delivery,
  type EventFilter,
  findEvent,
  findLast,
  findPlace,
  listDeliveriesOf,
  listEvents,
} from '../database/events.repository.ts'
import { type Forward, insertForward, listForwardsOf } from '../database/forwards.repository.ts'
import { repeatEvent, repeatWindow } from '../database/repeats.repository.ts'
import { isFor, placeEvents } from '../endpoints/fan-out.ts'
import type { Events } from '../events.ts'
import { cursorGone, endpointMissing, endpointNotActive, eventMissing } from '../problems.ts'

export type { EventFilter } from '../database/events.repository.ts'

type Page = EventFilter & { after?: string; order?: 'asc' | 'desc'; limit?: number }

const DEFAULT_LIMIT = 100

/**
 * Reads a page of events, oldest first by default. `next` is the cursor for the following page. At the end
 * of the list it is the last event, matching or not: the last match of a rare type is deleted one day.
 */
export async function readEvents(
  events: Events,
  { after, order = 'asc', limit = DEFAULT_LIMIT, ...filter }: Page,
) {
  await catchUp(events)
  const { db } = events
  const place = after === undefined ? undefined : await requirePlace(events, after)
  // Read before the page, which then contains every match up to here. The state of a delivery may change.
  const end = order === 'asc' && !filter.state ? await findLast(db) : undefined
  const found = await listEvents(db, { ...filter, order, limit, after: place })
  const last = found.at(-1)
  const isAtEnd = found.length < limit && end && end.place > (last?.serial ?? 0)
  return {
    items: found.map(({ body }) => JSON.parse(body)),
    next: (isAtEnd ? end.id : last?.id) ?? after ?? null,
  }
}

/**
 * Places the events of the outbox, so that a request sees everything committed before it. A failure is
 * only logged: on a full disk the events placed so far can still be read.
 */
export async function catchUp(events: Events): Promise<void> {
  const message = 'could not move new events from the outbox to the list'
  await placeEvents(events).catch((err) =>
    events.log.outages.failed({ state: 'outbox', message, err }),
  )
}

/** 410 when the event was deleted: later events that the reader has not seen may be deleted too. */
async function requirePlace({ db }: Events, id: string): Promise<number> {
  const place = await findPlace(db, id)
  if (place === undefined) throw cursorGone()
  return place
}

/** Reads an event with its deliveries and forwards. Endpoint replies are hidden without `seesReplies`. */
export async function readEvent(events: Events, id: string, seesReplies: boolean) {
  await catchUp(events)
  const { db } = events
  const event = await findEvent(db, id)
  if (!event) throw eventMissing()
  const deliveries = await listDeliveriesOf(db, event.serial)
  return {
    event: JSON.parse(event.body),
    deliveries: deliveries.map((delivery) => toReply(delivery, seesReplies)),
    forwards: await listForwardsOf(db, event.serial),
  }
}

function toReply(
  { id: _, endpointState, state, attempts, ...delivery }: Delivery,
  seesReplies: boolean,
) {
  const isPaused = state === 'pending' && endpointState !== 'active'
  return {
    ...delivery,
    state: isPaused ? ('paused' as const) : state,
    attempts: attempts.map(({ reply, ...attempt }) => ({
      ...attempt,
      reply: seesReplies ? reply : null,
    })),
  }
}

/** Records what a reader of the stream reports to have done with an event. */
export async function recordForward(
  events: Events,
  id: string,
  forward: Omit<Forward, 'n' | 'at'>,
): Promise<void> {
  await catchUp(events)
  const { db, clock } = events
  const event = await findEvent(db, id)
  if (!event) throw eventMissing()
  await insertForward(db, event.serial, { ...forward, at: clock().toISOString() })
}

/** Sends an event again, to one endpoint or to all that want it. Returns the number of endpoints. */
export async function replayEvent(
  events: Events,
  id: string,
  endpointId?: string,
): Promise<number> {
  await catchUp(events)
  const { db, clock } = events
  return inTransaction(db, async (transaction) => {
    const event = await findEvent(transaction, id)
    if (!event) throw eventMissing()
    const all = (await listEndpoints(transaction)).filter(({ state }) => state !== 'disabled')
    const chosen = endpointId
      ? all.filter((endpoint) => endpoint.id === endpointId)
      : all.filter((endpoint) => isFor(endpoint, event))
    if (endpointId && chosen.length === 0) {
      const known = await findEndpoint(transaction, endpointId)
      throw known ? endpointNotActive() : endpointMissing()
    }
    let count = 0
    for (const endpoint of chosen)
      count += await repeatEvent(transaction, event.serial, {
        endpointId: endpoint.id,
        trigger: 'replay',
        now: clock(),
      })
    return count
  })
}

type Recovery = { since: Date; until?: Date; failedOnly?: boolean }

/** Sends the events of a time range to an endpoint again. Returns their number. */
export async function recoverEndpoint(
  events: Events,
  endpointId: string,
  { since, until: given, failedOnly = true }: Recovery,
): Promise<number> {
  const until = given ?? events.clock()
  const fault = given ? 'until: must not be before since' : 'since: must not be in the future'
  if (until < since) throw validationFailed([fault])
  await catchUp(events)
  return inTransaction(events.db, async (transaction) => {
    const endpoint = await findEndpoint(transaction, endpointId)
    if (!endpoint) throw endpointMissing()
    if (endpoint.state === 'disabled') throw endpointNotActive()
    const window = { since, until, failedOnly, types: endpoint.types }
    return repeatWindow(transaction, window, {
      endpointId,
      trigger: 'recover',
      now: events.clock(),
    })
  })
}
