export {
  type AccountGuard,
  type Accounts,
  type Admission,
  accountSettings,
  type Gate,
  openAccounts,
  type SecurityListener,
  type TurnAway,
} from './accounts.ts'
export {
  ACCOUNT_EVENTS,
  ADDRESS_EVENTS,
  type By,
  byCaller,
  FACTOR_EVENTS,
  type Origin,
  originOf,
  recordEvent,
} from './audit/audit.ts'
export {
  attemptOf,
  countFrom,
  countWithin,
  isKnownNetwork,
  recordRefusal,
  recordThrottle,
  throttled,
} from './audit/failure-limit.ts'
export {
  listDueDeletions,
  listTombstones,
  renameInAudit,
  shortenAuditToRename,
} from './database/deletions.repository.ts'
export { subtractFailedAttempt } from './database/failed-attempts.repository.ts'
export { accountMigrations } from './database/migrations/index.ts'
export { domainForms, normalName } from './database/names.ts'
export { findAuthentication, updateAuthentication } from './database/sessions.repository.ts'
export { type AccountTables, SEALED_ACCOUNT_COLUMNS } from './database/tables.ts'
export {
  ADMIN_ROLE,
  expirePassword,
  findUserByEmail,
  findUserById,
  findUserByUsername,
  listEnabledAdmins,
  lockUser,
  markVerified,
  releaseEmail,
  type User,
  updateSecondFactor,
} from './database/users.repository.ts'
export { rotationFindings } from './doctor.ts'
export { demoConveniences, keyRules, mountAccounts } from './host.ts'
export { passwordQueueFull } from './passwords/pool.ts'
export {
  deletionPending,
  emailTaken,
  lastAdministrator,
  tooManyFailures,
  usernameTaken,
  userUnknown,
} from './problems.ts'
export { identifyCaller, lockCaller, recordDenials } from './sessions/caller.ts'
export { introspectAccessToken, revokeToken } from './sessions/introspection.ts'
export { accountData } from './sessions/kept-data.ts'
export { TokenPairReply } from './sessions/schemas.ts'
export { openSession, type TokenPair } from './sessions/sessions.ts'
export { type PasskeyStore, resetPassword, sessionsOf } from './users/access.ts'
export { changeEmail, changeUser } from './users/changes.ts'
export {
  cancelDeletion,
  eraseAccount,
  renameLateEvents,
  scheduleDeletion,
} from './users/deletion.ts'
export { type DropFactor, type Operator, operatorOf } from './users/operator.ts'
export { withOwnPassword } from './users/own-password.ts'
export {
  passwordText,
  reason,
  roles,
  UserReply,
  usernameText,
  WhyBody,
} from './users/schemas.ts'
export {
  refuseGuessable,
  refuseTaken,
  registerUser,
  registerVerified,
  requireEmailLength,
  requireUser,
  summaryOf,
  userDetails,
} from './users/users.ts'
