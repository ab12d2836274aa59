import { DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { parameterInvalid } from '../../protocol/errors.ts'
import { type Operation, pageable, readPage } from '../../protocol/operations.ts'
import * as read from '../../protocol/parameters.ts'
import type { Event, ProviderObject, WebhookEndpoint } from '../../state/objects/kinds.ts'
import {
  findParent,
  insertObject,
  listObjects,
  updateObject,
} from '../../state/objects/objects.repository.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { newId } from '../../state/seeded.ts'
import { readSwitches, type Switches } from '../../state/switches.ts'
import { insertDelivery } from './deliveries.repository.ts'

export const API_VERSION = '2026-10-28.endive'

/** Stores an event and its deliveries, in the transaction that caused it. */
export async function recordEvent(
  sandbox: Sandbox,
  type: string,
  subject: ProviderObject,
  { previous, livemode = false }: { previous?: object; livemode?: boolean } = {},
): Promise<Event> {
  const switches = await readSwitches(sandbox.db)
  const event: Event = {
    id: await newId(sandbox, 'evt'),
    object: 'event',
    api_version: switches.apiVersion ?? API_VERSION,
    created: switches.eventSecond ?? secondsOf(sandbox.clock()),
    data: { object: subject, ...(previous && { previous_attributes: previous }) },
    livemode,
    pending_webhooks: 0,
    request: sandbox.request ?? { id: null, idempotency_key: null },
    type,
  }
  event.pending_webhooks = await queueDeliveries(sandbox, event, switches)
  const parent = (await findParent(sandbox.db, subject.id)) ?? subject.id
  await insertObject(sandbox.db, event, { parent })
  return event
}

/** Stores an object that has changed, and the event that says so. */
export async function changeObject(sandbox: Sandbox, object: ProviderObject, event: string) {
  await updateObject(sandbox.db, object)
  await recordEvent(sandbox, event, object)
}

/** Queues an event for every endpoint that wants its type, and returns how many do. */
export async function queueDeliveries(sandbox: Sandbox, event: Event, switches: Switches) {
  const enabled = { where: { status: 'enabled' } }
  const endpoints = await listObjects(sandbox.db, 'webhook_endpoint', enabled)
  const interested = endpoints.filter((endpoint) => wants(endpoint, event.type))
  const dropped = switches.drop.includes('*') || switches.drop.includes(event.type)
  const copies = dropped ? 1 : 1 + switches.duplicates
  for (const endpoint of interested)
    for (let copy = 0; copy < copies; copy++)
      await insertDelivery(sandbox.db, {
        eventId: event.id,
        endpointId: endpoint.id,
        state: dropped ? 'dropped' : 'waiting',
        nextAttemptAt: secondsAfter(sandbox.clock(), switches.delaySeconds).toISOString(),
      })
  return dropped ? 0 : interested.length
}

function wants(endpoint: WebhookEndpoint, type: string): boolean {
  return endpoint.enabled_events.some((name) => name === '*' || name === type)
}

const EVENT_DAYS = 30

/** Events can be read for thirty days. */
export const listEvents: Operation = async (sandbox, { form, path }) => {
  const given = read.parameters(form, {
    ...pageable,
    type: read.text(),
    types: read.list(read.required(read.text()), 20),
    created: read.createdRange,
    delivery_success: read.flag(),
  })
  if (given.type !== undefined && given.types !== undefined)
    throw parameterInvalid('types', 'You may only specify one of these parameters: type, types.')
  const oldest = secondsOf(sandbox.clock()) - EVENT_DAYS * DAY_SECONDS
  const created = { ...given.created, gte: Math.max(given.created?.gte ?? 0, oldest) }
  const types = given.types ?? (given.type === undefined ? undefined : [given.type])
  const filter = { types, created, delivered: given.delivery_success }
  return readPage(sandbox, 'event', path, given, filter)
}
