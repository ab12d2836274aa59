import { type Clock, inTransaction, secondsAfter, signPayload } from '@plinth/kit'
import { jsonOf } from '../../protocol/answer.ts'
import type { Event, WebhookEndpoint } from '../../state/object-kinds.ts'
import { findHidden, findObject, updateObject } from '../../state/objects.repository.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import type { Switches } from '../../state/switches.ts'
import type { DeliveryRow } from '../../state/tables.ts'
import { countWaiting, insertAttempt, updateDelivery } from './deliveries.repository.ts'
import type { EndpointSecrets } from './endpoints.ts'

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

type SentRequest = { headers: Record<string, string>; body: string }

type ReceivedReply = {
  status: number | null
  headers: Record<string, string>
  body: string
  error: string | null
  milliseconds: number
}

const MOST_KEPT = 16_384

/** The request of one delivery: the event as it is, signed now, under both header names. */
function composeDelivery(
  event: Event,
  secrets: EndpointSecrets,
  signWith: Switches['signWith'],
  clock: Clock,
): SentRequest {
  const body = jsonOf(event)
  const { secret, secondSecret } = secrets
  const signing = {
    current: [secret],
    second: [secondSecret],
    both: [secret, secondSecret],
    wrong: [`${secret}-wrong`],
  }[signWith]
  const signature = signPayload(body, signing, clock())
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'Plinth-Sandbox/1.0',
    'provider-signature': signature,
    'stripe-signature': signature,
  }
  return { headers, body }
}

/** Sends it once. Whatever happens is a result to be written down, never an exception. */
async function sendDelivery(
  endpoint: WebhookEndpoint,
  request: SentRequest,
  timeoutSeconds: number,
  stopped: AbortSignal,
): Promise<ReceivedReply> {
  const started = performance.now()
  const since = () => Math.round(performance.now() - started)
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(timeoutSeconds * 1000)])
  try {
    const options = { method: 'POST', redirect: 'manual', signal, ...request } as const
    const response = await fetch(endpoint.url, options)
    const body = (await response.text()).slice(0, MOST_KEPT)
    const headers = Object.fromEntries(response.headers)
    return { status: response.status, headers, body, error: null, milliseconds: since() }
  } catch (error) {
    const reason = error instanceof Error ? describe(error) : String(error)
    return { status: null, headers: {}, body: '', error: reason, milliseconds: since() }
  }
}

function describe(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message
}
