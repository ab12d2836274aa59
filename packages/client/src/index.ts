export type { OwnSession, Page, PageQuery, Profile, Registration, UserSummary } from './accounts.ts'
export { type AuditEvent, identityClient, type Passkey } from './identity.ts'
export {
  type CheckoutRequest,
  type CheckoutSession,
  type Customer,
  type CustomerRequest,
  type Payment,
  paymentsClient,
  type Refund,
  type RefundRequest,
} from './payments.ts'
export { ProblemError } from './problem-error.ts'
export type { ClientOptions } from './request.ts'
export { Session, type TokenPair } from './session.ts'
export {
  type ObjectSettings,
  type OwnerUsage,
  type ProviderName,
  type StorageConfig,
  type StorageStatus,
  type StorageUsage,
  type StoredFile,
  storageClient,
  type TemporaryLink,
} from './storage.ts'
export { type FileMetadata, storageKeyClient } from './storage-key.ts'
