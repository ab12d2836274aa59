export type {
  AccountsOptions,
  AuditQuery,
  OwnAccount,
  Sessions,
  SignIn,
  UserQuery,
  Users,
} from './accounts.ts'
export type { AuditLog } from './audit-log.ts'
export {
  CodeFlow,
  CodeFlowError,
  type CodeFlowFault,
  type CodeFlowOptions,
  codeFlow,
  type SignedIn,
  type SignInRequest,
} from './code-flow.ts'
export type { EventListQuery, EventQuery, Events, WebhookEndpoints } from './events.ts'
export type * as IdentityApi from './generated/identity.ts'
export type {
  AccountSecurity,
  AuditEvent,
  Authorization,
  Brand,
  Client,
  ClientChange,
  ClientSecret,
  ClientToken,
  DeletedUser,
  Delivery,
  DeliveryAttempt,
  EventDetail,
  EventForward,
  EventForwardReport,
  EventPage,
  Grant,
  Identity,
  Invitation,
  IssuedClient,
  IssuedServiceKey,
  LinkState,
  Mail,
  MailRequested,
  MailTemplate,
  NewClient,
  PageOfUsers,
  Passkey,
  PendingEmailChange,
  PendingVerification,
  Problem,
  Profile,
  ProviderSignIn,
  ProviderSignInFinish,
  ProviderSignInStarted,
  ProviderSignUp,
  ProviderSignUpConfirmation,
  RecoveryCodesLeft,
  Registration,
  RegistrationState,
  RenderedMail,
  ScheduledDeletion,
  SecondFactorOfUser,
  ServiceIndex,
  ServiceKey,
  Session as UserSession,
  TotpEnrolment,
  User,
  UserChange,
  UserDetails,
  UserInfo,
  WebhookEndpoint,
  WebhookEndpointChange,
  WebhookEndpointRequest,
} from './generated/identity.ts'
export type * as PaymentsApi from './generated/payments.ts'
export type {
  CheckoutRequest,
  CheckoutSession,
  Customer,
  CustomerRequest,
  ListedPayment,
  Payment,
  ReceivedWebhookEvent as ReceivedProviderEvent,
  Refund,
  Timeline,
  WebhookEvent as ProviderEvent,
} from './generated/payments.ts'
export type * as StorageApi from './generated/storage-full.ts'
export type {
  LimitChanges,
  Limits,
  Link,
  Move,
  ObjectSettings,
  RestorableFile,
  StorageConfig,
  StorageLocation,
  StorageStatus,
  StorageTest,
  StoredFile,
  TemporaryLink,
  Upload,
  Usage,
  UsageOfOwner,
  ZipLink,
} from './generated/storage-full.ts'
export type * as StorageKeyApi from './generated/storage-key.ts'
export type { FileMetadata } from './generated/storage-key.ts'
export type { CallOptions } from './http/calls.ts'
export { ConnectionError, ProblemError, TimeoutError } from './http/errors.ts'
export type { Listing, Page } from './http/listing.ts'
export type { ClientOptions } from './http/request.ts'
export type { UploadOptions } from './http/upload.ts'
export type { ClientQuery } from './identity/clients.ts'
export type {
  NewPasskeyCredential,
  PasskeyAssertion,
  PasskeyCreationOptions,
  PasskeyRequestOptions,
} from './identity/credentials.ts'
export { type IdentityClient, type IdentityProblem, identityClient } from './identity/identity.ts'
export type { Introspection } from './identity/oauth.ts'
export type { Identities, Providers, ProviderVisit } from './identity/providers.ts'
export type { MailProof } from './identity/recovery.ts'
export type { FactorProof } from './identity/second-factor.ts'
export type { Health, JsonWebKeys } from './operations.ts'
export {
  type CustomerQuery,
  type PaymentQuery,
  type PaymentsClient,
  type PaymentsProblem,
  type ProviderEventQuery,
  paymentsClient,
  type RefundRequest,
} from './payments.ts'
export type { ServiceKeyRequest, ServiceKeys } from './service-keys.ts'
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
export type { PictureQuery, ReplaceOptions } from './storage/files.ts'
export type { Folders, SearchQuery } from './storage/folders.ts'
export type { ResumableOptions, ResumableUpload, UploadMemory } from './storage/resumable.ts'
export type { ProviderName } from './storage/settings.ts'
export { type StorageClient, type StorageProblem, storageClient } from './storage/storage.ts'
export type { Uploads } from './storage/uploads.ts'
export type { Versions } from './storage/versions.ts'
export type { ZipRequest, Zips } from './storage/zips.ts'
export { type StorageKeyClient, type StorageKeyProblem, storageKeyClient } from './storage-key.ts'
export {
  type EventData,
  type PlinthEvent,
  verifyWebhook,
  WebhookError,
  type WebhookEvent,
  type WebhookFault,
  type WebhookRequest,
} from './webhooks.ts'
