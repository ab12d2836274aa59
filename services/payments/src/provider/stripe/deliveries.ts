import { Type } from '@plinth/kit/http'
import { verifyPayload } from '@plinth/kit/tokens'
import {
  deliveryIncompatible,
  signatureMissing,
  signatureRejected,
  webhookNotConfigured,
} from '../problems.ts'
import type { Delivery, DeliveryDocument, DeliveryHeaders } from '../provider.ts'
import { parseJson } from '../values.ts'
import { readEvent } from './events.ts'

const HEADER = 'Provider-Signature'
const EXAMPLE_TYPE = 'checkout.session.completed'

/** What is posted: only the members that every event has. */
const EventBody = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 255, examples: ['evt_A1b2C3'] }),
    object: Type.Literal('event'),
    type: Type.String({ examples: [EXAMPLE_TYPE] }),
    data: Type.Object({ object: Type.Object({}, { additionalProperties: {} }) }),
  },
  { title: 'ProviderEvent', additionalProperties: {} },
)

const noSignature = signatureMissing(HEADER)

export const DELIVERIES: DeliveryDocument = {
  description: `\`${HEADER}: t=<seconds>,v1=<hex>\` is the HMAC-SHA256 of
\`<seconds>.<body>\` under the webhook secret, over the exact bytes. Deliver as often as you like:
each event id takes effect once.`,
  signatureHeader: HEADER,
  exampleType: EXAMPLE_TYPE,
  bodies: { 'application/json': EventBody },
}

export function checkDelivery(headers: DeliveryHeaders, secrets: readonly string[]): void {
  if (!signatureOf(headers)) throw noSignature()
  if (secrets.length === 0) throw webhookNotConfigured()
  if (!isJson(headers)) throw deliveryIncompatible()
}

type Check = { secrets: readonly string[]; liveMode: boolean | undefined; now: Date }

export function readDelivery(
  bytes: Uint8Array,
  headers: DeliveryHeaders,
  { secrets, liveMode, now }: Check,
): Delivery {
  const verdict = verifyPayload(bytes, signatureOf(headers), { secrets, now })
  if (verdict !== 'genuine') throw signatureRejected({ cause: verdict })
  const { raw, body } = parseJson(bytes)
  return { event: readEvent(raw, liveMode), body }
}

// All values, not joined: a signature in two headers is refused.
function signatureOf(headers: DeliveryHeaders): readonly string[] | undefined {
  return headers['provider-signature'] ?? headers['stripe-signature']
}

function isJson(headers: DeliveryHeaders): boolean {
  const [type = ''] = headers['content-type'] ?? []
  return type.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}
