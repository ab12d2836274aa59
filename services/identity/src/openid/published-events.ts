import type { EventCatalogue } from '@plinth/events'
import { Type } from '@plinth/kit/http'

const clientId = Type.String({ examples: ['bT9Rk3JmQ2xvV0hQb3RqWg'] })

const client = Type.Object({ clientId }, { title: 'ClientEventData' })
const grant = Type.Object({ userId: Type.Integer(), clientId }, { title: 'GrantEventData' })

/** Events about clients and what users allow them. */
export const CLIENT_EVENTS = {
  'client.created': { description: 'A client was registered.', data: client },
  'client.updated': { description: 'A client or its secret was changed.', data: client },
  'client.deleted': { description: 'A client was removed.', data: client },
  'grant.created': { description: 'A user allowed a client something.', data: grant },
  'grant.revoked': { description: 'A user’s permission for a client was taken back.', data: grant },
} satisfies EventCatalogue
