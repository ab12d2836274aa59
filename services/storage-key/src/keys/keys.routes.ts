import {
  type Guard,
  inScope,
  orNull,
  pageQuery,
  pageReply,
  pageRequest,
  parseJsonBodies,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { serviceKeyRoutes } from '@plinth/service-keys'
import { EVENT_SORTS, type KeyStore, pageOfEvents } from './keys.ts'

const EventReply = Type.Object(
  {
    id: Type.Integer(),
    at: timestamp(),
    event: Type.String({ examples: ['SERVICE_KEY_CREATED'] }),
    actor: orNull(Type.String()),
    subject: Type.String({ examples: ['key 1 (shop)'] }),
    address: Type.String({ examples: ['192.0.2.7'] }),
    requestId: orNull(Type.String()),
  },
  { title: 'AuditEvent' },
)

/** For the holder of the configured key. Registered in a scope of its own, in which bodies are JSON. */
export function keyRoutes(server: Server, store: KeyStore, admin: Guard): void {
  inScope(server, (scope) => {
    scope.removeAllContentTypeParsers()
    parseJsonBodies(scope)
    serviceKeyRoutes(scope, store.keys, admin)
    scope.get('/api/audit', {
      onRequest: admin,
      schema: {
        operationId: 'audit',
        summary: 'Who created, rotated and ended service keys; newest first',
        tags: ['Service keys'],
        readsQuery: pageQuery(EVENT_SORTS),
        response: { 200: pageReply(EventReply, 'PageOfAuditEvents') },
      },
      handler: ({ query }) => pageOfEvents(store, pageRequest(query, EVENT_SORTS)),
    })
  })
}
