import { inTransaction } from '@plinth/kit/database'
import { DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { signPayload } from '@plinth/kit/tokens'
import { jsonOf } from '../../protocol/answer.ts'
import type { Event, Hidden } from '../../state/objects/kinds.ts'
import { findObject, findWithHidden, updateObject } from '../../state/objects/objects.repository.ts'
import type { Surroundings } from '../../state/sandbox.ts'
import type { Switches } from '../../state/switches.ts'
import {
  type Attempt,
  countWaiting,
  type Delivery,
  type DueDelivery,
  recordAttempt,
  updateFailed,
} from './deliveries.repository.ts'
import type { Sender } from './send.ts'

/** Sends a delivery once and records what was sent and what came back. */
export async function deliver(
  sandbox: Surroundings,
  delivery: DueDelivery,
  { signWith }: Switches,
  { sender, stopped }: { sender: Sender; stopped: AbortSignal },
): Promise<void> {
  const { db, trueClock } = sandbox
  const endpoint = await findWithHidden(db, 'webhook_endpoint', delivery.endpointId)
  const event = await findObject(db, 'event', delivery.eventId)
  if (!endpoint || !event) return updateFailed(db, delivery.id)

  const session = await findWithHidden(db, 'checkout.session', delivery.subject)
  const request = composeRequest(event, SIGNING[signWith](endpoint.hidden), trueClock())
  if (session?.hidden.traceparent) request.headers.traceparent = session.hidden.traceparent
  const timeout = AbortSignal.timeout(sandbox.config.deliveryTimeoutSeconds * 1000)
  const signal = AbortSignal.any([stopped, timeout])
  const reply = await sender.send(endpoint.object.url, request, signal)
  if (stopped.aborted) return
  const at = sandbox.clock().toISOString()
  await record(sandbox, delivery, event, { at, request, ...reply })
}

type Secrets = Hidden['webhook_endpoint']

const SIGNING: Record<Switches['signWith'], (secrets: Secrets) => string[]> = {
  current: ({ secret }) => [secret],
  second: ({ secondSecret }) => [secondSecret],
  both: ({ secret, secondSecret }) => [secret, secondSecret],
  wrong: ({ secret }) => [`${secret}-wrong`],
}

/** The stored event with a fresh signature, under both header names. */
function composeRequest(event: Event, secrets: string[], now: Date): Attempt['request'] {
  const body = jsonOf(event)
  const signature = signPayload(body, secrets, now)
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'Plinth-Sandbox/1.0',
    'provider-signature': signature,
    'stripe-signature': signature,
  }
  return { headers, body }
}

async function record(sandbox: Surroundings, delivery: Delivery, event: Event, attempt: Attempt) {
  const next = stateAfter(sandbox, delivery, attempt)
  await inTransaction(sandbox.db, async (db) => {
    if (!(await recordAttempt(db, delivery, attempt, next))) return
    await updateObject(db, { ...event, pending_webhooks: await countWaiting(db, event.id) })
  })
}

const MAX_SECONDS = 3 * DAY_SECONDS

/** The wait doubles after each failure; when the waits add up to three days, the delivery has failed. */
function stateAfter(
  { config: { retrySeconds }, clock }: Surroundings,
  delivery: Delivery,
  { response }: Attempt,
): Partial<Delivery> {
  if (response && response.status >= 200 && response.status < 300) return { state: 'delivered' }
  const attempts = delivery.attempts + 1
  if (retrySeconds * (2 ** attempts - 1) > MAX_SECONDS) return { state: 'failed' }
  const next = secondsAfter(clock(), retrySeconds * 2 ** (attempts - 1))
  return { nextAttemptAt: next.toISOString() }
}
