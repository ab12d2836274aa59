import { secondsAfter } from '@plinth/kit'
import type { Event, WebhookEndpoint } from '../objects/object-kinds.ts'
import { listObjects } from '../objects/objects.repository.ts'
import type { Sandbox } from '../sandbox.ts'
import type { Switches } from '../state/switches.ts'
import { insertDelivery } from './deliveries.repository.ts'

/** Puts an event up for delivery to everyone who asked for its type; tells to how many. */
export async function queueDeliveries(
  sandbox: Sandbox,
  event: Event,
  switches: Switches,
): Promise<number> {
  const enabled = { where: { status: 'enabled' } }
  const endpoints = await listObjects(sandbox.db, 'webhook_endpoint', enabled)
  const interested = endpoints.filter((endpoint) => wants(endpoint, event.type))
  const dropped = switches.drop.includes('*') || switches.drop.includes(event.type)
  const copies = dropped ? 1 : 1 + switches.duplicates
  for (const endpoint of interested)
    for (let copy = 0; copy < copies; copy++)
      await insertDelivery(sandbox.db, {
        event_id: event.id,
        endpoint_id: endpoint.id,
        state: dropped ? 'dropped' : 'waiting',
        attempts: 0,
        next_attempt_at: secondsAfter(sandbox.clock(), switches.delaySeconds).toISOString(),
      })
  return dropped ? 0 : interested.length
}

function wants(endpoint: WebhookEndpoint, type: string): boolean {
  return endpoint.enabled_events.some((name) => name === '*' || name === type)
}
