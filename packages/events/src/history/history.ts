import { inTransaction, validationFailed } from '@plinth/kit'
import { findEndpoint, listEndpoints } from '../database/endpoints.repository.ts'
import {
  type Delivery,
  type EventFilter,
  findEvent,
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

/** What has happened, oldest first unless asked otherwise. `next` is where to go on reading. */
export async function readEvents(events: Events, { after, order = 'asc', limit, ...filter }: Page) {
  await catchUp(events)
  const found = await listEvents(events.db, {
    ...filter,
    order,
    limit: limit ?? DEFAULT_LIMIT,
    after: after === undefined ? undefined : await requirePlace(events, after),
  })
  return {
    items: found.map(({ body }) => JSON.parse(body)),
    next: found.at(-1)?.id ?? after ?? null,
  }
}

/** What was committed before a question belongs to the answer. On a full disk the rest can be read. */
export async function catchUp(events: Events): Promise<void> {
  await placeEvents(events).catch((error) =>
    events.log.warn({ err: error }, 'new events could not be given their places'),
  )
}

/** 410 for an event that is not kept any more: there may be others between it and the oldest one. */
async function requirePlace({ db }: Events, id: string): Promise<number> {
  const place = await findPlace(db, id)
  if (place === undefined) throw cursorGone()
  return place
}

/** An event with what became of it at each endpoint. Replies are for those who may see them. */
export async function readEvent(events: Events, id: string, seesReplies: boolean) {
  await catchUp(events)
  const { db } = events
  const event = await findEvent(db, id)
  if (!event) throw eventMissing()
  const deliveries = await listDeliveriesOf(db, event.serial)
  return {
    event: JSON.parse(event.body),
    deliveries: deliveries.map((delivery) => shown(delivery, seesReplies)),
    forwards: await listForwardsOf(db, event.serial),
  }
}

function shown({ id: _, endpointState, state, attempts, ...delivery }: Delivery, replies: boolean) {
  const waits = state === 'pending' && endpointState !== 'active'
  return {
    ...delivery,
    state: waits ? ('paused' as const) : state,
    attempts: attempts.map(({ reply, ...attempt }) => ({
      ...attempt,
      reply: replies ? reply : null,
    })),
  }
}

/** Keeps what a reader of the stream says it did with an event. */
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

/** Sends an event again, to one endpoint or to all that want it. Returns to how many. */
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

/** Sends an endpoint again what happened in a span of time. */
export async function recoverEndpoint(
  events: Events,
  endpointId: string,
  { since, until = events.clock(), failedOnly = true }: Recovery,
): Promise<number> {
  if (until < since) throw validationFailed(['until: must not be before since'])
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
