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
import type { PaymentGuard } from '../payment/context.ts'
import { eventFailed, eventMissing } from '../payment/problems.ts'
import {
  deliveryIncompatible,
  eventMalformed,
  signatureMissing,
  signatureRejected,
  webhookNotConfigured,
} from '../provider/problems.ts'
import type { Delivery, DeliveryDocument, PaymentProvider } from '../provider/provider.ts'
import { EVENT_SORTS, pageOfEvents, readInboxEvent, retryEvent } from './events.ts'
import { type Inbox, receiveEvent } from './receive.ts'

const MAX_BYTES = 1024 * 1024

const EventId = Type.String({ minLength: 1, maxLength: 255, examples: ['evt_A1b2C3'] })

const EventParams = Type.Object({ id: EventId })

const text = Type.String()

const acknowledgementReply = ({ exampleType }: DeliveryDocument) =>
  Type.Object(
    {
      eventId: EventId,
      eventType: Type.String({ examples: [exampleType] }),
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

const tags = ['Webhooks']

function webhook(deliveries: DeliveryDocument) {
  const { description, signatureHeader, bodies } = deliveries
  const signature = { type: 'apiKey', in: 'header', name: signatureHeader }
  return {
    operationId: 'providerWebhook',
    summary: 'Where the provider delivers its events',
    description,
    tags,
    access: [
      { schemes: { signature }, problems: [signatureMissing(signatureHeader), signatureRejected] },
    ],
    readsBody: bodies,
    response: { 200: acknowledgementReply(deliveries) },
    problems: [deliveryIncompatible, eventMalformed, eventFailed, webhookNotConfigured],
  }
}

/** Uses a scope whose parser keeps the body's exact bytes, because the signature covers them. */
export function webhookRoutes(server: Server, inbox: Inbox): void {
  const { provider } = inbox
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // The framework caches only parsers of an explicit type.
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, keepBytes)
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, keepBytes)
    scope.post('/api/provider/webhook', {
      bodyLimit: MAX_BYTES,
      config: { refusesEncoding: true },
      onRequest: [forgetUnreadableType, async (request) => checkHeaders(request, provider)],
      schema: webhook(provider.deliveries),
      handler: async (request) =>
        receiveEvent(inbox, { ...deliveryOf(request, inbox), source: 'webhook' }),
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
      response: { 200: acknowledgementReply(inbox.provider.deliveries) },
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
function checkHeaders({ headers, raw }: Request, provider: PaymentProvider): void {
  if (Number(headers['content-length']) > MAX_BYTES) return
  provider.checkDelivery(raw.headersDistinct)
  if (isEncoded(headers)) throw deliveryIncompatible()
}

/** Nothing is written before the provider's signature is verified. */
function deliveryOf(request: Request, { provider, clock }: Inbox): Delivery {
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  try {
    return provider.readDelivery(bytes, request.raw.headersDistinct, clock())
  } catch (error) {
    if (signatureRejected.is(error))
      request.log.warn(
        { requestId: request.id, verdict: error.cause },
        'a webhook signature was refused',
      )
    throw error
  }
}
