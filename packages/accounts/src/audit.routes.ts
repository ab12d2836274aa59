import { pageRequest, type Server } from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { AUDIT_SORTS, pageOfEvents } from './audit.ts'
import type { AccountGuard } from './caller.ts'
import { ADMIN_ROLE } from './users.ts'

export function auditRoutes(server: Server, accounts: Accounts, guard: AccountGuard): void {
  server.get('/api/audit', {
    onRequest: guard.role(ADMIN_ROLE),
    handler: ({ query }) => pageOfEvents(accounts, pageRequest(query, AUDIT_SORTS)),
  })
}
