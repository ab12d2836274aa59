export type {
  AccountCalls,
  AccountsOptions,
  AuditEvent,
  AuditQuery,
  JsonWebKeys,
  OwnSession,
  Page,
  PageQuery,
  Profile,
  Reason,
  Registration,
  UserDetails,
  UserPage,
  UserQuery,
  UserSummary,
} from './accounts.ts'
export type { DownloadOptions } from './http/download.ts'
export { ConnectionError, ProblemError, TimeoutError } from './http/errors.ts'
export type { ClientOptions } from './http/request.ts'
export type { UploadOptions } from './http/upload.ts'
export {
  type ClientToken,
  type IdentityClient,
  type Introspection,
  identityClient,
  type Passkey,
} from './identity/identity.ts'
export type {
  FactorProof,
  Mail,
  MailProof,
  MailTemplate,
  RenderedMail,
} from './identity/recovery.ts'
export type {
  Delivery,
  EventCalls,
  EventForward,
  EventListQuery,
  EventQuery,
  Health,
  IssuedServiceKey,
  ServiceKey,
  ServiceKeyRequest,
  WebhookEndpoint,
  WebhookEndpointRequest,
} from './operations.ts'
export {
  type CheckoutRequest,
  type CheckoutSession,
  type Customer,
  type CustomerQuery,
  type CustomerRequest,
  type ListedPayment,
  type Payment,
  type PaymentsClient,
  type ProviderEvent,
  type ProviderEventResult,
  paymentsClient,
  type ReceivedProviderEvent,
  type Refund,
  type RefundRequest,
  type Timeline,
} from './payments.ts'
export { Session, type SessionOptions } from './session/session.ts'
export {
  type CookieAttributes,
  type CookieJar,
  cookieStore,
  memoryStore,
  type TokenPair,
  type TokenStore,
  webStore,
} from './session/stores.ts'
export {
  type Link,
  type Move,
  type ObjectSettings,
  type OwnerUsage,
  type ProviderName,
  type RestorableFile,
  type StorageClient,
  type StorageConfig,
  type StorageLocation,
  type StorageStatus,
  type StorageTest,
  type StorageUsage,
  type StoredFile,
  storageClient,
  type TemporaryLink,
} from './storage.ts'
export { type FileMetadata, type StorageKeyClient, storageKeyClient } from './storage-key.ts'
export {
  type EventData,
  type PlinthEvent,
  verifyWebhook,
  WebhookError,
  type WebhookEvent,
  type WebhookFault,
  type WebhookRequest,
} from './webhooks.ts'
