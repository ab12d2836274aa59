import { inTransaction, secondsAfter } from '@plinth/kit'
import type { Event, WebhookEndpoint } from '../objects/object-kinds.ts'
import { findHidden, findObject, updateObject } from '../objects/objects.repository.ts'
import type { Sandbox } from '../sandbox.ts'
import type { Switches } from '../state/switches.ts'
import type { DeliveryRow } from '../tables.ts'
import { composeDelivery, type ReceivedReply, type SentRequest, sendDelivery } from './attempt.ts'
import { countWaiting, insertAttempt, updateDelivery } from './deliveries.repository.ts'
import type { EndpointSecrets } from './webhook-endpoints.ts'

const LONGEST_SECONDS = 3 * 24 * 60 * 60

/** One attempt, written down with what was sent and what came back. */
export async function deliver(
  sandbox: Sandbox,
  delivery: DeliveryRow,
  switches: Switches,
  stopped: AbortSignal,
): Promise<void> {
  const endpoint = await findObject(sandbox.db, 'webhook_endpoint', delivery.endpoint_id)
  const event = await findObject(sandbox.db, 'event', delivery.event_id)
  if (!endpoint || !event) return updateDelivery(sandbox.db, delivery.id, { state: 'failed' })

  const secrets = await requireSecrets(sandbox, endpoint)
  const request = composeDelivery(event, secrets, switches.signWith, sandbox.trueClock)
  const timeout = sandbox.config.deliveryTimeoutSeconds
  const reply = await sendDelivery(endpoint, request, timeout, stopped)
  if (!stopped.aborted) await writeDown(sandbox, delivery, event, request, reply)
}

async function requireSecrets(
  sandbox: Sandbox,
  endpoint: WebhookEndpoint,
): Promise<EndpointSecrets> {
  const secrets = await findHidden<EndpointSecrets>(sandbox.db, endpoint.id)
  if (!secrets) throw new Error(`The endpoint ${endpoint.id} has lost its secrets.`)
  return secrets
}

async function writeDown(
  sandbox: Sandbox,
  delivery: DeliveryRow,
  event: Event,
  request: SentRequest,
  reply: ReceivedReply,
): Promise<void> {
  const now = sandbox.clock()
  await inTransaction(sandbox.db, async (db) => {
    await insertAttempt(db, {
      delivery_id: delivery.id,
      at: now.toISOString(),
      request_headers: JSON.stringify(request.headers),
      request_body: request.body,
      status: reply.status,
      response_headers: JSON.stringify(reply.headers),
      response_body: reply.body,
      error: reply.error,
      milliseconds: reply.milliseconds,
    })
    await updateDelivery(db, delivery.id, nextState(sandbox, delivery, reply, now))
    const pending = await countWaiting(db, event.id)
    await updateObject(db, { ...event, pending_webhooks: pending })
  })
}

/** Waits twice as long after each failure, and gives up when the waits add up to three days. */
function nextState(sandbox: Sandbox, delivery: DeliveryRow, reply: ReceivedReply, now: Date) {
  const attempts = delivery.attempts + 1
  if (reply.status !== null && reply.status >= 200 && reply.status < 300)
    return { state: 'delivered', attempts }
  const first = sandbox.config.retrySeconds
  const waitedSeconds = first * (2 ** attempts - 1)
  if (waitedSeconds > LONGEST_SECONDS) return { state: 'failed', attempts }
  const next = secondsAfter(now, first * 2 ** (attempts - 1))
  return { attempts, next_attempt_at: next.toISOString() }
}
