import { notFound } from '@plinth/kit'
import type { Event, ProviderObject } from '../objects/object-kinds.ts'
import { findObject, listObjects } from '../objects/objects.repository.ts'
import { change, type Sandbox } from '../sandbox.ts'
import { DEFAULT_SWITCHES } from '../state/switches.ts'
import type { AttemptRow, DeliveryRow } from '../tables.ts'
import { listAttempts, listDeliveries } from '../webhooks/deliveries.repository.ts'
import { recordEvent } from '../webhooks/events.ts'
import { queueDeliveries } from '../webhooks/outbox.ts'

const MOST_SHOWN = 200

export async function listRecentEvents(sandbox: Sandbox): Promise<Event[]> {
  return listObjects(sandbox.db, 'event', {}, { limit: MOST_SHOWN })
}

/** Delivers an event once more, whatever the switches say about dropping and delaying. */
export async function resendEvent(sandbox: Sandbox, id: string): Promise<Event> {
  return change(sandbox, async (inside) => {
    const event = await findObject(inside.db, 'event', id)
    if (!event) throw notFound()
    await queueDeliveries(inside, event, DEFAULT_SWITCHES)
    return event
  })
}

type ForgedEvent = { type: string; object: { id: string }; livemode?: boolean }

/** An event that nothing caused, properly signed: for what a provider should never send. */
export async function forgeEvent(sandbox: Sandbox, forged: ForgedEvent): Promise<Event> {
  return change(sandbox, (inside) =>
    recordEvent(inside, forged.type, forged.object as ProviderObject, {
      livemode: forged.livemode ?? false,
    }),
  )
}

/** The newest deliveries, each with every attempt: what was sent and what came back. */
export async function describeDeliveries(sandbox: Sandbox, eventId?: string) {
  const deliveries = await listDeliveries(sandbox.db, { eventId, limit: MOST_SHOWN })
  const attempts = await listAttempts(
    sandbox.db,
    deliveries.map(({ id }) => id),
  )
  const events = await Promise.all(
    deliveries.map(({ event_id: id }) => findObject(sandbox.db, 'event', id)),
  )
  return deliveries.map((delivery, index) => describeDelivery(delivery, events[index], attempts))
}

function describeDelivery(delivery: DeliveryRow, event: Event | undefined, all: AttemptRow[]) {
  return {
    id: delivery.id,
    eventId: delivery.event_id,
    eventType: event?.type ?? null,
    endpointId: delivery.endpoint_id,
    state: delivery.state,
    nextAttemptAt: delivery.state === 'waiting' ? delivery.next_attempt_at : null,
    attempts: all.filter((attempt) => attempt.delivery_id === delivery.id).map(describeAttempt),
  }
}

function describeAttempt(attempt: AttemptRow) {
  return {
    at: attempt.at,
    milliseconds: attempt.milliseconds,
    request: { headers: JSON.parse(attempt.request_headers), body: attempt.request_body },
    response:
      attempt.status === null
        ? null
        : {
            status: attempt.status,
            headers: JSON.parse(attempt.response_headers),
            body: attempt.response_body,
          },
    error: attempt.error,
  }
}
