import { lookUpText, oneOf, orNull, Type, timestamp } from '@plinth/kit/http'

export const eventId = lookUpText({
  maxLength: 40,
  description: 'The id of an event',
  examples: ['evt_0190163d8694739bd3b5f2c61e4a'],
})

const endpointId = Type.String({ examples: ['ep_2f1c7a9b8e6d5f4c3a2b1908'] })

export function eventReply(source: string) {
  return Type.Object(
    {
      id: eventId,
      type: Type.String({ examples: ['ping'] }),
      timestamp: timestamp(),
      source: Type.String({ examples: [source] }),
      subject: endpointId,
      sequence: Type.Integer({ description: 'Grows with every event of the subject' }),
      apiVersion: Type.String({ examples: ['1'] }),
      data: Type.Object({}, { additionalProperties: {} }),
    },
    { title: 'Event' },
  )
}

const AttemptReply = Type.Object(
  {
    n: Type.Integer(),
    at: timestamp(),
    durationMs: Type.Integer(),
    status: orNull(Type.Integer()),
    error: orNull(Type.String()),
    reply: orNull(Type.String({ description: 'The first characters, for administrators' })),
    trigger: oneOf('event', 'replay', 'recover'),
  },
  { title: 'DeliveryAttempt' },
)

const DeliveryReply = Type.Object(
  {
    endpointId,
    url: Type.String({ examples: ['https://shop.example/webhooks'] }),
    state: oneOf('pending', 'done', 'failed', 'paused'),
    nextAttemptAt: orNull(timestamp()),
    attempts: Type.Array(AttemptReply),
  },
  { title: 'Delivery' },
)

const outcome = {
  url: Type.String({
    maxLength: 2048,
    pattern: '^https?://[^\\s\\p{Cc}\\p{Cs}]+$',
    message: 'must be an address that begins with http:// or https://',
    examples: ['http://localhost:3000/hooks'],
  }),
  durationMs: Type.Integer({ minimum: 0, maximum: 3_600_000 }),
  status: orNull(Type.Integer({ minimum: 100, maximum: 599, examples: [200] })),
  error: orNull(
    Type.String({
      maxLength: 200,
      pattern: '^[^\\p{Cc}\\p{Cs}]*$',
      description: 'Why there was no answer',
      examples: ['ECONNREFUSED'],
    }),
  ),
}

export const ForwardBody = Type.Object(outcome, {
  title: 'EventForwardReport',
  examples: [{ url: 'http://localhost:3000/hooks', durationMs: 12, status: 200, error: null }],
})

const ForwardReply = Type.Object(
  { n: Type.Integer(), at: timestamp(), ...outcome },
  { title: 'EventForward' },
)

export function detailReply(source: string) {
  return Type.Object(
    {
      event: eventReply(source),
      deliveries: Type.Array(DeliveryReply),
      forwards: Type.Array(ForwardReply),
    },
    { title: 'EventDetail' },
  )
}
