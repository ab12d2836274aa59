import { notFound, validationFailed } from '@plinth/kit/problems'
import {
  type Delivery,
  listAttempts,
  listDeliveries,
} from '../resources/webhooks/deliveries.repository.ts'
import { faultOfEndpoint, insertEndpoint } from '../resources/webhooks/endpoints.ts'
import { queueDeliveries, recordEvent } from '../resources/webhooks/events.ts'
import type { Event, ProviderObject } from '../state/objects/kinds.ts'
import {
  deleteObject,
  findObject,
  findWithHidden,
  listObjects,
} from '../state/objects/objects.repository.ts'
import { change, type Sandbox } from '../state/sandbox.ts'
import { DEFAULT_SWITCHES } from '../state/switches.ts'

type GivenEndpoint = {
  url: string
  secret: string
  secondSecret?: string
  enabledEvents?: string[]
}

/** Unlike the API, which generates a secret, this takes the caller's. */
export async function addEndpoint(sandbox: Sandbox, given: GivenEndpoint) {
  const { url, enabledEvents, ...secrets } = given
  const fault = await faultOfEndpoint(sandbox, url)
  if (fault) throw validationFailed([`url: ${fault}`])
  const { id } = await insertEndpoint(sandbox, { url, enabled_events: enabledEvents }, secrets)
  return describeEndpoint(sandbox, id)
}

export async function listEndpointsWithSecrets(sandbox: Sandbox) {
  const endpoints = await listObjects(sandbox.db, 'webhook_endpoint')
  return Promise.all(endpoints.map(({ id }) => describeEndpoint(sandbox, id)))
}

async function describeEndpoint(sandbox: Sandbox, id: string) {
  const found = await findWithHidden(sandbox.db, 'webhook_endpoint', id)
  if (!found) throw notFound()
  const { url, enabled_events: enabledEvents, status } = found.object
  return { id, url, enabledEvents, status, ...found.hidden }
}

export async function removeEndpoint(sandbox: Sandbox, id: string): Promise<void> {
  if (!(await findObject(sandbox.db, 'webhook_endpoint', id))) throw notFound()
  await deleteObject(sandbox.db, id)
}

/** Delivers an event again, regardless of switches that would drop or delay it. */
export async function resendEvent(sandbox: Sandbox, id: string): Promise<Event> {
  return change(sandbox, async (inside) => {
    const event = await findObject(inside.db, 'event', id)
    if (!event) throw notFound()
    await queueDeliveries(inside, event, DEFAULT_SWITCHES)
    return event
  })
}

type ForgedEvent = { type: string; object: { id: string }; livemode?: boolean }

/** Sends a correctly signed event that nothing caused, which a real provider should never do. */
export async function forgeEvent(sandbox: Sandbox, forged: ForgedEvent): Promise<Event> {
  const { type, object, livemode } = forged
  return change(sandbox, (inside) =>
    recordEvent(inside, type, object as ProviderObject, { livemode }),
  )
}

const MAX_SHOWN = 200

/** The newest deliveries, each with every attempt. */
export async function describeDeliveries(sandbox: Sandbox, eventId?: string) {
  const deliveries = await listDeliveries(sandbox.db, MAX_SHOWN, eventId)
  const attempts = await listAttempts(sandbox.db, deliveries)
  const describe = async ({ id, eventId, endpointId, state, nextAttemptAt }: Delivery) => ({
    id,
    eventId,
    eventType: (await findObject(sandbox.db, 'event', eventId))?.type ?? null,
    endpointId,
    state,
    nextAttemptAt: state === 'waiting' ? nextAttemptAt : null,
    attempts: attempts.get(id) ?? [],
  })
  return Promise.all(deliveries.map(describe))
}
