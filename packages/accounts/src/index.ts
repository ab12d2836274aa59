export {
  type AccountGuard,
  type Accounts,
  accountSettings,
  type Gate,
  openAccounts,
  type SecurityListener,
} from './accounts.ts'
export {
  ACCOUNT_EVENTS,
  ADDRESS_EVENTS,
  type By,
  byCaller,
  type Origin,
  originOf,
  PASSKEY_EVENTS,
  recordEvent,
  recordKeyEvents,
  type SecurityEvent,
} from './audit/audit.ts'
export { attemptOf, countWithin, recordRefusal, slowedDown } from './audit/failure-limit.ts'
export { accountMigrations } from './database/migrations/index.ts'
export { normalName } from './database/names.ts'
export { findAuthentication, updateAuthentication } from './database/sessions.repository.ts'
export type { AccountTables } from './database/tables.ts'
export {
  ADMIN_ROLE,
  findUserByEmail,
  findUserById,
  findUserByUsername,
  lockUser,
  markVerified,
  type User,
  updateSecondFactor,
} from './database/users.repository.ts'
export { mountAccounts } from './host.ts'
export { passwordQueueFull } from './passwords/pool.ts'
export { emailTaken, tooManyFailures, userUnknown } from './problems.ts'
export { identifyCaller, lockCaller, recordDenials } from './sessions/caller.ts'
export { introspectAccessToken, revokeToken } from './sessions/introspection.ts'
export { accountData } from './sessions/kept-data.ts'
export { TokenPairReply } from './sessions/schemas.ts'
export { openSession, type TokenPair } from './sessions/sessions.ts'
export { type PasskeyStore, resetPassword } from './users/access.ts'
export { changeEmail } from './users/changes.ts'
export { type Operator, operatorOf } from './users/operator.ts'
export { withOwnPassword } from './users/own-password.ts'
export { passwordText, ReasonBody, reason, roles } from './users/schemas.ts'
export { refuseGuessable, registerUser, requireUser } from './users/users.ts'
