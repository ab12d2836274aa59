export {
  type AccountGuard,
  type Accounts,
  accountSettings,
  openAccounts,
} from './accounts.ts'
export {
  type By,
  byCaller,
  type Origin,
  originOf,
  recordEvent,
  recordKeyEvents,
} from './audit/audit.ts'
export { recordRefusal } from './audit/failure-limit.ts'
export { accountMigrations } from './database/migrations/index.ts'
export type { AccountTables } from './database/tables.ts'
export { ADMIN_ROLE, type User } from './database/users.repository.ts'
export { mountAccounts } from './host.ts'
export { userUnknown } from './problems.ts'
export { identifyCaller, lockCaller, recordDenials } from './sessions/caller.ts'
export { introspectAccessToken, revokeToken } from './sessions/introspection.ts'
export { TokenPairReply } from './sessions/schemas.ts'
export { openSession, type TokenPair } from './sessions/sessions.ts'
export type { PasskeyStore } from './users/access.ts'
export { type Operator, operatorOf } from './users/operator.ts'
export { registerUser, requireUser } from './users/users.ts'
