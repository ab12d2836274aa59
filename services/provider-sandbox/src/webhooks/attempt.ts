import { type Clock, signPayload } from '@plinth/kit'
import { jsonOf } from '../api/answer.ts'
import type { Event, WebhookEndpoint } from '../objects/object-kinds.ts'
import type { Switches } from '../state/switches.ts'
import type { EndpointSecrets } from './webhook-endpoints.ts'

export type SentRequest = { headers: Record<string, string>; body: string }

export type ReceivedReply = {
  status: number | null
  headers: Record<string, string>
  body: string
  error: string | null
  milliseconds: number
}

const MOST_KEPT = 16_384

/** The request of one delivery: the event as it is, signed now, under both header names. */
export function composeDelivery(
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
export async function sendDelivery(
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
