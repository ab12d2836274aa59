import { type Server, Type } from '@plinth/kit/http'
import {
  addEndpoint,
  describeDeliveries,
  forgeEvent,
  listEndpointsWithSecrets,
  removeEndpoint,
  resendEvent,
} from './deliveries.ts'
import { type Controls, listRecent } from './state.ts'

const ById = Type.Object({ id: Type.String() })

const DeliveriesQuery = Type.Object({ event: Type.Optional(Type.String()) })

const ForgedEventBody = Type.Object({
  type: Type.String({ minLength: 1 }),
  object: Type.Object({ id: Type.String() }),
  livemode: Type.Optional(Type.Boolean()),
})

const EndpointBody = Type.Object({
  url: Type.String({ pattern: '^https?://' }),
  secret: Type.String({ minLength: 1 }),
  secondSecret: Type.Optional(Type.String({ minLength: 1 })),
  enabledEvents: Type.Optional(Type.Array(Type.String())),
})

/** Events, endpoints and deliveries. */
export function deliveryRoutes(server: Server, { sandbox, deliverer }: Controls): void {
  server.get('/sandbox/api/events', () => listRecent(sandbox, 'event'))
  server.post('/sandbox/api/events', {
    schema: { body: ForgedEventBody },
    handler: async ({ body }, reply) => reply.code(201).send(await forgeEvent(sandbox, body)),
  })
  server.post('/sandbox/api/events/:id/resend', {
    schema: { params: ById },
    handler: ({ params }) => resendEvent(sandbox, params.id),
  })

  server.get('/sandbox/api/deliveries', {
    schema: { querystring: DeliveriesQuery },
    handler: ({ query }) => describeDeliveries(sandbox, query.event),
  })
  server.post('/sandbox/api/deliveries/flush', async () => {
    await deliverer.flush()
    return describeDeliveries(sandbox)
  })

  server.get('/sandbox/api/webhook-endpoints', () => listEndpointsWithSecrets(sandbox))
  server.post('/sandbox/api/webhook-endpoints', {
    schema: { body: EndpointBody },
    handler: async ({ body }, reply) => reply.code(201).send(await addEndpoint(sandbox, body)),
  })
  server.delete('/sandbox/api/webhook-endpoints/:id', {
    schema: { params: ById },
    handler: async ({ params }, reply) => {
      await removeEndpoint(sandbox, params.id)
      return reply.code(204).send()
    },
  })
}
