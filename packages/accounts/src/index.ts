export {
  ACCOUNT_SCOPES,
  type AccountGuard,
  type Accounts,
  type Admission,
  type Gate,
  openAccounts,
  type SecurityListener,
  type TurnAway,
} from './accounts.ts'
export {
  type By,
  byCaller,
  type Origin,
  originOf,
  recordEvent,
  recordSecurityEvent,
  type SecurityEvent,
} from './audit/audit.ts'
export {
  attemptOf,
  countFrom,
  countWithin,
  isKnownNetwork,
  recordRefusal,
  recordThrottle,
  takeBackFrom,
  throttled,
} from './audit/failure-limit.ts'
export {
  ACCOUNT_EVENTS,
  ADDRESS_EVENTS,
  FACTOR_EVENTS,
  IDENTITY_EVENTS,
} from './audit/published-events.ts'
export { reason, WhyBody } from './audit/schemas.ts'
export type { AuditEvent } from './audit-events.ts'
export { accountData } from './backup-data.ts'
export { takeBackAttempt } from './database/counted-attempts.repository.ts'
export {
  listDueDeletions,
  listTombstones,
  renameInAudit,
  shortenAuditToRename,
} from './database/deletions.repository.ts'
export { revokeAnySession, revokeExpiredClients } from './database/ended-sessions.repository.ts'
export { accountMigrations } from './database/migrations/index.ts'
export { domainForms, normalName } from './database/names.ts'
export {
  findAuthentication,
  isSessionActive,
  type SessionWindow,
  sessionWindow,
  updateAuthentication,
} from './database/sessions.repository.ts'
export { type AccountTables, SEALED_ACCOUNT_COLUMNS } from './database/tables.ts'
export {
  ADMIN_ROLE,
  expirePassword,
  findCaller,
  findUserByEmail,
  findUserById,
  findUserByUsername,
  listEnabledAdmins,
  lockUser,
  markVerified,
  NO_PASSWORD,
  releaseEmail,
  type User,
  updateSecondFactor,
} from './database/users.repository.ts'
export { rotationFindings } from './doctor.ts'
export { keyRules, mountAccounts } from './host.ts'
export { type FactorStore, type Operator, operatorOf } from './operator.ts'
export { passwordQueueFull } from './passwords/pool.ts'
export {
  credentialsRejected,
  deletionPending,
  emailTaken,
  lastAdministrator,
  registrationClosed,
  tooManyFailures,
  usernameTaken,
  userUnknown,
} from './problems.ts'
export { identifyCaller, lockCaller, recordDenials } from './sessions/caller.ts'
export { endSession, introspectAccessToken, revokeToken } from './sessions/introspection.ts'
export { TokenPairReply } from './sessions/schemas.ts'
export {
  newRefreshToken,
  nextRefreshToken,
  openSession,
  refreshTokenHashes,
  sessionTimes,
  type TokenPair,
} from './sessions/sessions.ts'
export { sessionsOf } from './sessions/sessions-of-users.ts'
export { accountSettings } from './settings.ts'
export { changeEmail, changeUser } from './users/changes.ts'
export {
  cancelDeletion,
  eraseAccount,
  renameLateEvents,
  scheduleDeletion,
} from './users/deletion.ts'
export { demoConveniences } from './users/first-users.ts'
export { refuseGuessable } from './users/guessable-passwords.ts'
export { withOwnPassword } from './users/own-password.ts'
export { type PasskeyStore, resetPassword } from './users/password-reset.ts'
export {
  admitRegistration,
  refuseTaken,
  registerUser,
  registerVerified,
  requireEmailLength,
} from './users/registration.ts'
export { passwordText, roles, UserReply, usernameText } from './users/schemas.ts'
export { requireUser, summaryOf, userDetails } from './users/users.ts'
