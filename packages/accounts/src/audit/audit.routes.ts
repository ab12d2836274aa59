import {
  orNull,
  pageQuery,
  pageReply,
  pageRequest,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit'
import { type AccountGuard, type Accounts, ADMIN_ROLE } from '../accounts.ts'
import { AUDIT_SORTS, pageOfEvents } from './audit.ts'

const EventReply = Type.Object(
  {
    id: Type.Integer(),
    at: timestamp(),
    event: Type.String({ examples: ['LOGIN'] }),
    actor: orNull(Type.String({ examples: ['ada'] })),
    subject: orNull(Type.String({ examples: ['ada'] })),
    address: orNull(Type.String({ examples: ['192.0.2.7'] })),
    result: Type.String({ examples: ['SUCCESS'] }),
    requestId: orNull(Type.String()),
  },
  { title: 'AuditEvent' },
)

export function auditRoutes(server: Server, accounts: Accounts, guard: AccountGuard): void {
  server.get('/api/audit', {
    onRequest: guard.role(ADMIN_ROLE),
    schema: {
      operationId: 'audit',
      summary: 'Security events, newest first',
      tags: ['Users'],
      readsQuery: pageQuery(AUDIT_SORTS),
      response: { 200: pageReply(EventReply, 'PageOfAuditEvents') },
    },
    handler: ({ query }) => pageOfEvents(accounts, pageRequest(query, AUDIT_SORTS)),
  })
}
