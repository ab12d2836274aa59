import {
  orNull,
  pageQuery,
  pageReply,
  pageRequest,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
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
    reason: Type.Optional(
      Type.String({ description: 'Why an administrator did it, or to which file' }),
    ),
  },
  { title: 'AuditEvent' },
)

const AuditQuery = Type.Object({
  user: Type.Optional(
    Type.String({ maxLength: 254, examples: ['ada'], description: 'Who did it, or to whom' }),
  ),
  event: Type.Optional(
    Type.String({
      pattern: '^[A-Z_]{1,50}$',
      message: 'must be an event such as LOGIN',
      examples: ['LOGIN'],
      description: 'With a filter totals are counted up to 10,000',
    }),
  ),
})

export function auditRoutes(server: Server, accounts: Accounts, guard: AccountGuard): void {
  server.get('/api/audit', {
    onRequest: guard.role(ADMIN_ROLE),
    schema: {
      operationId: 'audit',
      summary: 'Security events, newest first',
      tags: ['Users'],
      querystring: AuditQuery,
      readsQuery: pageQuery(AUDIT_SORTS),
      response: { 200: pageReply(EventReply, 'PageOfAuditEvents') },
    },
    handler: ({ query }) => pageOfEvents(accounts, pageRequest(query, AUDIT_SORTS), query),
  })
}
