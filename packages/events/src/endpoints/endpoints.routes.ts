import {
  basePathOf,
  lookUpText,
  noContent,
  oneOf,
  orNull,
  type Request,
  replyWith,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { nameInAudit } from '@plinth/service-keys'
import type { EventActor, EventGuards, Events } from '../events.ts'
import {
  endpointMissing,
  endpointNotActive,
  secretsNotConfigured,
  tooManyEndpoints,
  urlNotAllowed,
} from '../problems.ts'
import {
  allEndpoints,
  changeEndpoint,
  createEndpoint,
  removeEndpoint,
  requireEndpoint,
  revealSecret,
  rotateSecret,
  testEndpoint,
} from './endpoints.ts'

const EndpointParams = Type.Object({
  id: lookUpText({
    maxLength: 40,
    description: 'The id of an endpoint',
    examples: ['ep_2f1c7a9b8e6d5f4c3a2b1908'],
  }),
})

const url = Type.String({
  minLength: 1,
  maxLength: 2048,
  pattern: '^[^\\p{Cc}\\p{Cs}]*$',
  message: 'must not contain control characters',
  examples: ['http://localhost:3000/webhooks'],
})
const description = Type.String({ maxLength: 200, pattern: '^[^\\p{Cc}\\p{Cs}]*$' })
const types = Type.Array(Type.String({ maxLength: 64, examples: ['ping'] }), {
  maxItems: 50,
  description: 'The event types it gets; all when empty',
})

const EndpointBody = Type.Object(
  { url, description: Type.Optional(description), types: Type.Optional(types) },
  { title: 'WebhookEndpointRequest' },
)

const ChangeBody = Type.Object(
  {
    url: Type.Optional(url),
    description: Type.Optional(description),
    types: Type.Optional(types),
    state: Type.Optional(oneOf('active', 'paused')),
  },
  { title: 'WebhookEndpointChange' },
)

const endpoint = {
  id: Type.String({ examples: ['ep_2f1c7a9b8e6d5f4c3a2b1908'] }),
  url: Type.String({ examples: ['https://shop.example/webhooks'] }),
  description: Type.String(),
  types,
  state: oneOf('active', 'paused', 'disabled'),
  stateReason: orNull(Type.String()),
  createdAt: timestamp(),
  createdBy: Type.String({ examples: ['admin'] }),
  firstFailureAt: orNull(timestamp()),
  lastSuccessAt: orNull(timestamp()),
}

const EndpointReply = Type.Object(endpoint, {
  title: 'WebhookEndpoint',
  additionalProperties: false,
})

const secret = Type.String({
  description: 'Verifies the signature of each delivery',
  examples: ['whsec_MfKQ…'],
})

const NewEndpointReply = Type.Object(
  { ...endpoint, secret },
  { title: 'NewWebhookEndpoint', additionalProperties: false },
)

const SecretReply = Type.Object({ secret }, { title: 'WebhookSecret' })

const tags = ['Events']

/** Webhook endpoints: the addresses that events are sent to. */
export function endpointRoutes(server: Server, events: Events, guards: EventGuards): void {
  server.post('/api/webhooks/endpoints', {
    onRequest: [guards.write, ...(guards.recent ?? [])],
    schema: {
      operationId: 'createWebhookEndpoint',
      summary: 'Create a webhook endpoint; it gets a ping',
      tags,
      body: EndpointBody,
      response: { 201: replyWith({ headers: ['Location'] }, NewEndpointReply) },
      problems: [urlNotAllowed, tooManyEndpoints, secretsNotConfigured],
    },
    handler: async (request, reply) => {
      const made = await createEndpoint(events, request.body, actorOf(request))
      const path = `${basePathOf(request)}/api/webhooks/endpoints/${made.endpoint.id}`
      reply.header('location', path)
      return { ...made.endpoint, secret: made.secret }
    },
  })

  server.get('/api/webhooks/endpoints', {
    onRequest: guards.write,
    schema: {
      operationId: 'webhookEndpoints',
      summary: 'List the webhook endpoints',
      tags,
      response: { 200: Type.Array(EndpointReply) },
    },
    handler: () => allEndpoints(events),
  })

  server.get('/api/webhooks/endpoints/:id', {
    onRequest: guards.write,
    schema: {
      operationId: 'webhookEndpoint',
      summary: 'One endpoint',
      tags,
      params: EndpointParams,
      response: { 200: EndpointReply },
      problems: [endpointMissing],
    },
    handler: ({ params }) => requireEndpoint(events, params.id),
  })

  changeRoutes(server, events, guards)
  secretRoutes(server, events, guards)
}

function changeRoutes(server: Server, events: Events, guards: EventGuards): void {
  const problems = [endpointMissing]
  server.patch('/api/webhooks/endpoints/:id', {
    onRequest: [guards.write, ...(guards.recent ?? [])],
    schema: {
      operationId: 'changeWebhookEndpoint',
      summary: 'Change an endpoint, pause it, or make it active again',
      tags,
      params: EndpointParams,
      body: ChangeBody,
      response: { 200: EndpointReply },
      problems: [...problems, urlNotAllowed],
    },
    handler: (request) => changeEndpoint(events, request.params.id, request.body, actorOf(request)),
  })

  server.delete('/api/webhooks/endpoints/:id', {
    onRequest: [guards.write, ...(guards.recent ?? [])],
    schema: {
      operationId: 'deleteWebhookEndpoint',
      summary: 'Delete an endpoint',
      tags,
      params: EndpointParams,
      response: { 204: noContent },
      problems,
    },
    handler: (request) => removeEndpoint(events, request.params.id, actorOf(request)),
  })
}

function secretRoutes(server: Server, events: Events, { admin, recent = [] }: EventGuards): void {
  const params = EndpointParams
  const problems = [endpointMissing, secretsNotConfigured]
  server.get('/api/webhooks/endpoints/:id/secret', {
    onRequest: [admin, ...recent],
    schema: {
      operationId: 'webhookSecret',
      summary: 'The secret of an endpoint; the audit says who read it',
      tags,
      params,
      response: { 200: SecretReply },
      problems,
    },
    handler: async (request) => ({
      secret: await revealSecret(events, request.params.id, actorOf(request)),
    }),
  })

  server.post('/api/webhooks/endpoints/:id/rotate-secret', {
    onRequest: [admin, ...recent],
    schema: {
      operationId: 'rotateWebhookSecret',
      summary: 'Rotate the secret; the old one also signs for another day',
      tags,
      params,
      response: { 200: SecretReply },
      problems,
    },
    handler: async (request) => ({
      secret: await rotateSecret(events, request.params.id, actorOf(request)),
    }),
  })

  server.post('/api/webhooks/endpoints/:id/test', {
    onRequest: admin,
    schema: {
      operationId: 'testWebhookEndpoint',
      summary: 'Send a ping to an endpoint',
      tags,
      params,
      response: { 202: Type.Object({ eventId: Type.String() }, { title: 'SentTest' }) },
      problems: [endpointMissing, endpointNotActive],
    },
    handler: async (request) => ({
      eventId: await testEndpoint(events, request.params.id, actorOf(request)),
    }),
  })
}

function actorOf({ caller, ip, id }: Pick<Request, 'caller' | 'ip' | 'id'>): EventActor {
  return { actor: nameInAudit(caller), origin: { address: ip, requestId: id } }
}
