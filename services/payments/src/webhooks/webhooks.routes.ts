import {
  forgetUnreadableType,
  isEncoded,
  lookUpText,
  oneOf,
  orNull,
  pageQuery,
  pageReply,
  pageRequest,
  type Request,
  readInTurn,
  type Server,
  Type,
  textIn,
  timestamp,
} from '@plinth/kit/http'
import { verifyPayload } from '@plinth/kit/tokens'
import type { PaymentGuard } from '../payment/context.ts'
import {
  deliveryIncompatible,
  eventFailed,
  eventMissing,
  signatureMissing,
  signatureRejected,
  webhookNotConfigured,
} from '../payment/problems.ts'
import { parseEvent } from '../provider/objects.ts'
import { eventMalformed } from '../provider/problems.ts'
import { EVENT_SORTS, pageOfEvents, readInboxEvent, retryEvent } from './events.ts'
import { type Inbox, receiveEvent } from './receive.ts'

const MAX_BYTES = 1024 * 1024

const EventId = Type.String({ minLength: 1, maxLength: 255, examples: ['evt_A1b2C3'] })

const EventParams = Type.Object({ id: EventId })

const text = Type.String()

const AcknowledgementReply = Type.Object(
  {
    eventId: EventId,
    eventType: Type.String({ examples: ['checkout.session.completed'] }),
    status: Type.Union([Type.Literal('PROCESSED'), Type.Literal('IGNORED')]),
    duplicate: Type.Boolean({ description: 'It was processed before' }),
  },
  { title: 'Acknowledgement' },
)

const event = {
  id: EventId,
  type: text,
  status: oneOf('PROCESSED', 'IGNORED', 'FAILED', 'DEAD'),
  source: oneOf('webhook', 'poll'),
  paymentId: orNull(Type.String({ format: 'uuid' })),
  parkedFor: orNull(text),
  tries: Type.Integer({ minimum: 0 }),
  nextTryAt: orNull(timestamp()),
  error: orNull(text),
  receivedAt: timestamp(),
  processedAt: orNull(timestamp()),
  sizeBytes: Type.Integer({ minimum: 0 }),
}

const EventReply = Type.Object(event, { title: 'WebhookEvent' })

const ReceivedEventReply = Type.Object(
  {
    ...event,
    payload: Type.Unsafe<unknown>(
      orNull(
        Type.Object(
          {},
          {
            additionalProperties: {},
            description: 'As received, with secrets as ***; null for an old event',
          },
        ),
      ),
    ),
  },
  { title: 'ReceivedWebhookEvent' },
)

const EventQuery = pageQuery(EVENT_SORTS, {
  status: Type.Optional(lookUpText()),
  type: Type.Optional(lookUpText()),
})

/** What the provider posts: only the members that every event has. */
const EventBody = Type.Object(
  {
    id: EventId,
    object: Type.Literal('event'),
    type: Type.String({ examples: ['checkout.session.completed'] }),
    data: Type.Object({ object: Type.Object({}, { additionalProperties: {} }) }),
  },
  { title: 'ProviderEvent', additionalProperties: {} },
)

const tags = ['Webhooks']

const SIGNATURE = { type: 'apiKey', in: 'header', name: 'Provider-Signature' }

const webhook = {
  operationId: 'providerWebhook',
  summary: 'Where the provider delivers its events',
  description: `\`Provider-Signature: t=<seconds>,v1=<hex>\` is the HMAC-SHA256 of
\`<seconds>.<body>\` under the webhook secret, over the exact bytes. Deliver as often as you like:
each event id takes effect once.`,
  tags,
  access: [{ schemes: { signature: SIGNATURE }, problems: [signatureMissing, signatureRejected] }],
  readsBody: { 'application/json': EventBody },
  response: { 200: AcknowledgementReply },
  problems: [deliveryIncompatible, eventMalformed, eventFailed, webhookNotConfigured],
}

/** Uses a scope whose parser keeps the body's exact bytes, because the signature covers them. */
export function webhookRoutes(server: Server, inbox: Inbox, secrets: string[]): void {
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // The framework caches only parsers of an explicit type.
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, keepBytes)
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, keepBytes)
    scope.post('/api/provider/webhook', {
      bodyLimit: MAX_BYTES,
      config: { refusesEncoding: true },
      onRequest: [forgetUnreadableType, async (request) => checkHeaders(request, secrets)],
      schema: webhook,
      handler: async (request) => {
        const bytes = verifiedBody(request, secrets, inbox.clock())
        return receiveEvent(inbox, { ...parseEvent(bytes), source: 'webhook' })
      },
    })
  })
}

/** The inbox, for operators; outside the sandbox only with `PAYMENTS_OPERATIONS`. */
export function eventOperationRoutes(server: Server, inbox: Inbox, guard: PaymentGuard) {
  server.get('/api/webhook-events', {
    schema: {
      operationId: 'webhookEvents',
      summary: "The inbox of the provider's events",
      tags,
      readsQuery: EventQuery,
      response: { 200: pageReply(EventReply, 'PageOfWebhookEvents') },
    },
    onRequest: guard.operate,
    handler: ({ query }) =>
      pageOfEvents(
        inbox,
        { status: textIn(query, 'status'), type: textIn(query, 'type') },
        pageRequest(query, EVENT_SORTS),
      ),
  })

  server.get('/api/webhook-events/:id', {
    schema: {
      operationId: 'webhookEvent',
      summary: 'An event of the inbox with its payload',
      tags,
      params: EventParams,
      response: { 200: ReceivedEventReply },
      problems: [eventMissing],
    },
    onRequest: guard.operate,
    handler: ({ params }) => readInboxEvent(inbox, params.id),
  })

  server.post('/api/webhook-events/:id/retry', {
    schema: {
      operationId: 'retryWebhookEvent',
      summary: 'Process an event again, even one that was given up',
      tags,
      params: EventParams,
      response: { 200: AcknowledgementReply },
      problems: [eventMissing, eventMalformed, eventFailed],
    },
    onRequest: guard.retry,
    handler: ({ params }) => retryEvent(inbox, params.id),
  })
}

type Done = (error: Error | null, body?: Buffer) => void

/** A signature over 1 MiB takes milliseconds to verify. */
function keepBytes(request: Request, bytes: Buffer, done: Done) {
  readInTurn({ request, bytes, done }, () => done(null, bytes))
}

/** Refuses what the headers alone rule out before the body is read: anyone may send a megabyte. */
function checkHeaders(request: Request, secrets: string[]): void {
  if (Number(request.headers['content-length']) > MAX_BYTES) return
  if (!signatureOf(request)) throw signatureMissing()
  if (secrets.length === 0) throw webhookNotConfigured()
  if (!isJson(request) || isEncoded(request.headers)) throw deliveryIncompatible()
}

/** The body of a delivery with a valid signature. Nothing is written before this. */
function verifiedBody(request: Request, secrets: string[], now: Date): Buffer {
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const verdict = verifyPayload(bytes, signatureOf(request), { secrets, now })
  if (verdict === 'genuine') return bytes
  request.log.warn({ requestId: request.id, verdict }, 'a webhook signature was refused')
  throw signatureRejected()
}

// The raw values, not joined: a signature in two headers is refused.
function signatureOf({ raw, headers }: Request): string[] | undefined {
  const name = ['provider-signature', 'stripe-signature'].find((header) => header in headers)
  if (name === undefined) return undefined
  const isValue = (_text: string, index: number, all: string[]) =>
    index % 2 === 1 && all[index - 1]?.toLowerCase() === name
  return raw.rawHeaders.filter(isValue)
}

function isJson({ headers }: Request): boolean {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}
