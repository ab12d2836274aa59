import { Readable, type Writable } from 'node:stream'
import {
  bareReply,
  emptyBody,
  type Guard,
  lookUpText,
  noContent,
  oneOf,
  orNull,
  type Request,
  type Server,
  Type,
} from '@plinth/kit/http'
import { Problem } from '@plinth/kit/problems'
import type { Static } from 'typebox'
import type { EventGuards, Events } from '../events.ts'
import {
  cursorGone,
  endpointMissing,
  endpointNotActive,
  eventMissing,
  tooManyStreams,
} from '../problems.ts'
import { readEvent, readEvents, recordForward, recoverEndpoint, replayEvent } from './history.ts'
import { detailReply, eventId, eventReply, ForwardBody } from './schemas.ts'
import type { Reader, Streams } from './stream.ts'

const EventParams = Type.Object({ id: eventId })

const EndpointParams = Type.Object({
  id: lookUpText({ maxLength: 40, description: 'The id of an endpoint' }),
})

/** No leap seconds: the format allows them, and a `Date` cannot hold them. */
const moment = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:[0-5]\\d(\\.\\d{1,3})?Z$',
  message: 'must be a time such as 2030-01-01T12:00:00Z',
  examples: ['2030-01-01T12:00:00Z'],
})

const StreamQuery = Type.Object({
  after: Type.Optional(eventId),
  types: Type.Optional(lookUpText({ maxLength: 2000, description: 'Separated by commas' })),
  subject: Type.Optional(lookUpText({ maxLength: 255, description: 'What the events are about' })),
  since: Type.Optional(moment),
})

const ListQuery = Type.Object({
  ...StreamQuery.properties,
  state: Type.Optional(oneOf('pending', 'done', 'failed')),
  order: Type.Optional(oneOf('asc', 'desc')),
  limit: Type.Optional(
    Type.String({
      pattern: '^([1-9]\\d?|100)$',
      message: 'must be from 1 to 100',
      examples: ['20'],
    }),
  ),
})

const CountReply = Type.Object({ count: Type.Integer({ minimum: 0 }) }, { title: 'Repeated' })

const ReplayBody = Type.Object({
  endpointId: Type.Optional(
    Type.String({ maxLength: 40, examples: ['ep_2f1c7a9b8e6d5f4c3a2b1908'] }),
  ),
})

const RecoverBody = Type.Object(
  {
    since: moment,
    until: Type.Optional(moment),
    failedOnly: Type.Optional(Type.Boolean()),
  },
  { examples: [{ since: '2026-01-01T00:00:00Z', failedOnly: true }] },
)

const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  // A buffering proxy would hold events back.
  'x-accel-buffering': 'no',
  // Otherwise shutdown would wait for the connection, which is idle once the stream has ended.
  connection: 'close',
}

const tags = ['Events']

/** The history of events: a list for catching up, a stream, and replays. */
export function historyRoutes(
  server: Server,
  events: Events,
  { guards, streams }: { guards: EventGuards; streams: Streams },
): void {
  server.get('/api/events', {
    onRequest: guards.read,
    schema: {
      operationId: 'events',
      summary: 'What has happened in the last 30 days, oldest first',
      tags,
      querystring: ListQuery,
      response: {
        200: Type.Object(
          { items: Type.Array(eventReply(events.source)), next: orNull(eventId) },
          { title: 'EventPage' },
        ),
      },
      problems: [cursorGone],
    },
    handler: ({ query: { limit, order, state, after, ...query } }) =>
      readEvents(events, {
        ...filterOf(query),
        after,
        order,
        state,
        limit: limit === undefined ? undefined : Number(limit),
      }),
  })

  server.get('/api/events/stream', {
    onRequest: guards.read,
    schema: {
      operationId: 'eventStream',
      summary: 'Events as they happen, as server-sent events',
      description: `Begins after \`Last-Event-ID\` (or \`after\`), at \`since\`, or with what happens next.
A comment with the \`id\` to go on from comes at least every 15 seconds. The stream ends within 15 seconds
of the caller's key, token or session. \`event: gap\` says that events after the one read last are not kept
any more.`,
      tags,
      querystring: StreamQuery,
      headers: Type.Object({ 'last-event-id': Type.Optional(eventId) }),
      response: { 200: bareReply({ mediaTypes: ['text/event-stream'] }) },
      problems: [tooManyStreams],
    },
    handler: (request, reply) => {
      const after = request.headers['last-event-id'] ?? request.query.after
      const reader = readerOf(request, reply.raw, guards.read)
      const stream = streams.open({ ...filterOf(request.query), after }, reader)
      return reply.headers(STREAM_HEADERS).send(Readable.from(stream))
    },
  })

  server.get('/api/events/:id', {
    onRequest: guards.read,
    schema: {
      operationId: 'event',
      summary: 'An event, its deliveries with their attempts, and its forwards',
      tags,
      params: EventParams,
      response: { 200: detailReply(events.source) },
      problems: [eventMissing],
    },
    handler: ({ params, caller }) => readEvent(events, params.id, guards.seesReplies(caller)),
  })
  repeatRoutes(server, events, guards)
  forwardRoutes(server, events, guards)
}

function repeatRoutes(server: Server, events: Events, { write }: EventGuards): void {
  server.post('/api/events/:id/replay', {
    onRequest: write,
    preValidation: emptyBody,
    schema: {
      operationId: 'replayEvent',
      summary: 'Send an event again',
      tags,
      params: EventParams,
      body: ReplayBody,
      response: { 202: CountReply },
      problems: [eventMissing, endpointMissing, endpointNotActive],
    },
    handler: async ({ params, body }) => ({
      count: await replayEvent(events, params.id, body.endpointId),
    }),
  })

  server.post('/api/webhooks/endpoints/:id/recover', {
    onRequest: write,
    schema: {
      operationId: 'recoverWebhookEndpoint',
      summary: 'Send an endpoint the events of a time range again',
      tags,
      params: EndpointParams,
      body: RecoverBody,
      response: { 202: CountReply },
      problems: [endpointMissing, endpointNotActive],
    },
    handler: async ({ params, body: { since, until, failedOnly } }) => {
      const span = { since: new Date(since), until: until ? new Date(until) : undefined }
      return { count: await recoverEndpoint(events, params.id, { ...span, failedOnly }) }
    },
  })
}

/** Lets readers of the stream report how a receiver that the service cannot reach answered an event. */
function forwardRoutes(server: Server, events: Events, { read }: EventGuards): void {
  server.post('/api/events/:id/forwards', {
    onRequest: read,
    schema: {
      operationId: 'recordEventForward',
      summary: 'Report how your own receiver answered an event',
      description: 'As `plinth listen` does. The newest 20 of an event are kept.',
      tags,
      params: EventParams,
      body: ForwardBody,
      response: { 204: noContent },
      problems: [eventMissing],
    },
    handler: ({ params, body }) => recordForward(events, params.id, body),
  })
}

function readerOf(request: Request, response: Writable, guard: Guard): Reader {
  const left = new AbortController()
  if (response.destroyed) left.abort()
  response.once('close', () => left.abort())
  return {
    caller: request.caller.userId,
    gone: left.signal,
    mayRead: () => passes(guard, request),
    disconnect: () => void response.destroy(),
  }
}

/** A guard that itself fails, for example without its database, says nothing about the caller. */
async function passes(guard: Guard, request: Request): Promise<boolean> {
  try {
    await guard(request)
    return true
  } catch (error) {
    return !(error instanceof Problem && error.status < 500)
  }
}

type Query = Static<typeof StreamQuery>

function filterOf({ types, subject, since }: Omit<Query, 'after'>) {
  return {
    types: types?.split(',').filter(Boolean),
    subject,
    since: since === undefined ? undefined : new Date(since),
  }
}
