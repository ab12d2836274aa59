export { addChosenKey } from './chosen-key.ts'
export { expiryFindings, startKeyNotices } from './expiring-keys.ts'
export {
  KEY_PROBLEMS,
  type KeyCaller,
  type KeyGuard,
  nameInAudit,
  onDenial,
  serviceKeyGuard,
} from './key-guard.ts'
export { keyBody, requireKeyRequest } from './key-rights.ts'
export { isKeyText, looksLikeKey, newKeyText } from './key-text.ts'
export { insufficientScope, scopeMissing } from './problems.ts'
export {
  endKeysMadeBy,
  isReservedName,
  type ServiceKey,
  type ServiceKeyTables,
  serviceKeyMigrations,
} from './service-keys.repository.ts'
export { serviceKeyRoutes } from './service-keys.routes.ts'
export {
  allServiceKeys,
  createServiceKey,
  isKeyCaller,
  isKeyCallerInForce,
  isServiceKeyInForce,
  KEY_AUDIT_EVENTS,
  type KeyAuditEvent,
  type KeyEvent,
  keysMadeBy,
  openServiceKeys,
  revokeKeysMadeBy,
  revokeServiceKey,
  rotateServiceKey,
  type ServiceKeys,
} from './service-keys.ts'
