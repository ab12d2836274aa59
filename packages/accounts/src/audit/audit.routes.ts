import { pageRequest, type Server } from '@plinth/kit'
import { type AccountGuard, type Accounts, ADMIN_ROLE } from '../accounts.ts'
import { AUDIT_SORTS, pageOfEvents } from './audit.ts'

export function auditRoutes(server: Server, accounts: Accounts, guard: AccountGuard): void {
  server.get('/api/audit', {
    onRequest: guard.role(ADMIN_ROLE),
    handler: ({ query }) => pageOfEvents(accounts, pageRequest(query, AUDIT_SORTS)),
  })
}
