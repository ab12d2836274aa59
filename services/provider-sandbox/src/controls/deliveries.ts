import { notFound } from '@plinth/kit'
import { listAttempts, listDeliveries } from '../resources/webhooks/deliveries.repository.ts'
import { type EndpointSecrets, insertEndpoint } from '../resources/webhooks/endpoints.ts'
import { queueDeliveries, recordEvent } from '../resources/webhooks/events.ts'
import type { Event, ProviderObject } from '../state/object-kinds.ts'
import { deleteObject, findHidden, findObject, listObjects } from '../state/objects.repository.ts'
import { change, type Sandbox } from '../state/sandbox.ts'
import { DEFAULT_SWITCHES } from '../state/switches.ts'
import type { AttemptRow, DeliveryRow } from '../state/tables.ts'

type GivenEndpoint = {
  url: string
  secret: string
  secondSecret?: string
  enabledEvents?: string[]
}

/** Unlike the API, which makes up the secret itself, a test brings its own. */
export async function addEndpoint(sandbox: Sandbox, given: GivenEndpoint) {
  const { url, secret, secondSecret, enabledEvents } = given
  const secrets = secondSecret === undefined ? { secret } : { secret, secondSecret }
  const endpoint = await insertEndpoint(sandbox, { url, enabled_events: enabledEvents }, secrets)
  return describeEndpoint(sandbox, endpoint.id)
}

export async function listEndpointsWithSecrets(sandbox: Sandbox) {
  const endpoints = await listObjects(sandbox.db, 'webhook_endpoint')
  return Promise.all(endpoints.map(({ id }) => describeEndpoint(sandbox, id)))
}

export async function removeEndpoint(sandbox: Sandbox, id: string): Promise<void> {
  if (!(await findObject(sandbox.db, 'webhook_endpoint', id))) throw notFound()
  await deleteObject(sandbox.db, id)
}

async function describeEndpoint(sandbox: Sandbox, id: string) {
  const endpoint = await findObject(sandbox.db, 'webhook_endpoint', id)
  const secrets = await findHidden<EndpointSecrets>(sandbox.db, id)
  if (!endpoint || !secrets) throw notFound()
  const { url, enabled_events: enabledEvents, status } = endpoint
  return { id, url, enabledEvents, status, ...secrets }
}

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
