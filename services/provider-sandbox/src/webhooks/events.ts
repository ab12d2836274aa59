import type { Event, ProviderObject } from '../objects/object-kinds.ts'
import { insertObject } from '../objects/objects.repository.ts'
import { type Sandbox, secondsOf } from '../sandbox.ts'
import { newId } from '../state/identifiers.ts'
import { readSwitches } from '../state/switches.ts'
import { queueDeliveries } from './outbox.ts'

export const API_VERSION = '2026-10-28.endive'

/** Writes down what happened, and its deliveries, in the transaction in which it happened. */
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
    request: {
      id: sandbox.request?.id ?? null,
      idempotency_key: sandbox.request?.idempotencyKey ?? null,
    },
    type,
  }
  event.pending_webhooks = await queueDeliveries(sandbox, event, switches)
  await insertObject(sandbox.db, event, { parent: subject.id })
  return event
}
