export {
  databaseFault,
  engineOf,
  forUpdate,
  idColumn,
  isUniqueViolation,
} from './database/engine.ts'
export {
  isLeaseHeld,
  kitMigrations,
  type LeaseTables,
} from './database/leases/leases.repository.ts'
export { isFirstWithin, type Job, startJob, withLease } from './database/leases/leases.ts'
export { type Migration, VERSION } from './database/migrate.ts'
export { type Database, type Db, missingMigrations, openDatabase } from './database/open.ts'
export { prepared } from './database/prepared.ts'
export {
  deleteUntil,
  type FromRow,
  fromRow,
  type PageRequest,
  type Sort,
  selectPage,
  sortRows,
  toRow,
} from './database/rows.ts'
export { afterCommit, inTransaction, lastly } from './database/transaction.ts'
export { probeFolder, removeFile, syncFolder } from './files/disk.ts'
export {
  entityTag,
  isSmall,
  type OpenFile,
  openRegularFile,
  readRange,
  readSmallFile,
  readSmallRange,
} from './files/open-file.ts'
export { DOWNLOAD_PROBLEMS, UPLOAD_PROBLEMS, uploadTooLarge } from './files/problems.ts'
export {
  contentDisposition,
  type FileBody,
  fileReplies,
  type Representation,
  sendFile,
} from './files/send-file.ts'
export {
  HOST_NAME,
  Spool,
  type SpoolOptions,
  type SpoolReading,
} from './files/spool/spool.ts'
export { sweepOldSpools, sweepSpools } from './files/spool/sweep.ts'
export {
  FILE_TYPES,
  type FileType,
  fileTypes,
} from './files/types/catalogue.ts'
export { requireFileType } from './files/types/type.ts'
export {
  acceptUploads,
  FileForm,
  receiveUpload,
  type Upload,
  type UploadLimits,
} from './files/upload.ts'
export { basePathOf, requestedPath, targetOf } from './http/address/base-path.ts'
export { hostPathOf, mountServers } from './http/address/mounts.ts'
export {
  type Authenticate,
  anyone,
  type Caller,
  callerGuard,
  type Guard,
  guarding,
  type Health,
  type Reply,
  type Request,
  type Server,
} from './http/framework.ts'
export {
  CREDENTIALS_BODY_BYTES,
  forgetUnreadableType,
  isEncoded,
  isTooDeep,
  parseJsonBodies,
  readInTurn,
} from './http/hooks/bodies.ts'
export { countReplies } from './http/hooks/measure.ts'
export { pageOf, pageQuery, pageReply, pageRequest, pageSize, textIn } from './http/page.ts'
export { handleProblems, renderProblem } from './http/problem-handler.ts'
export { consoleRoutes } from './http/routes/console-pages.ts'
export { challengeFile } from './http/routes/doctor-challenge.ts'
export { type HealthCheck, readinessOf, worst, worstOf } from './http/routes/health.ts'
export type { ApiDescription } from './http/routes/openapi/document.ts'
export { exampleOf } from './http/routes/openapi/schemas.ts'
export { openApiRoutes } from './http/routes/openapi/serve.ts'
export {
  type Access,
  bareReply,
  noContent,
  replyWith,
} from './http/routes/operations.ts'
export { indexRoute } from './http/routes/service-index.ts'
export {
  actuatorRoutes,
  componentHealthRoute,
  jwksRoutes,
  protectedResourceRoutes,
} from './http/routes/standard-routes.ts'
export {
  addressesOf,
  cannotListen,
  closeGracefully,
  closeOnSignals,
  exitWith,
  failureOf,
  inService,
  listen,
  prepareToListen,
  run,
} from './http/run.ts'
export {
  emailText,
  emptyBody,
  faultsOf,
  IdPath,
  lookUpText,
  oneOf,
  optionalText,
  orNull,
  pathId,
  positiveInteger,
  requiredText,
  Type,
  timestamp,
} from './http/schema.ts'
export { createServer } from './http/server.ts'
export {
  EXPOSITION_TYPE,
  exposition,
  labelled,
  merged,
} from './metrics/exposition.ts'
export type { Family, Metrics } from './metrics/metrics.ts'
export { watchProcess } from './metrics/process.ts'
export { measureDisks } from './metrics/stores.ts'
export {
  accessDenied,
  accessTokenRejected,
  callerUnknown,
  type DefinedProblem,
  databaseUnavailable,
  defineProblem,
  isDiskFull,
  isDiskReadOnly,
  issuerUnavailable,
  notFound,
  Problem,
  type ProblemOptions,
  StartError,
  storageFull,
  storageReadOnly,
  tooManyOpenFiles,
  validationFailed,
} from './problems.ts'
export { type AddressRules, faultOfUrl, forbiddenBy } from './runtime/address-rules.ts'
export {
  clientNetwork,
  clientNetworks,
  networkShares,
  widestNetwork,
} from './runtime/client-networks.ts'
export { type Clock, secondsAfter, systemClock } from './runtime/clock.ts'
export { coalesce } from './runtime/coalesce.ts'
export { generatedKey, makeDataFolder, withoutSavingKeys } from './runtime/data-folder.ts'
export { enterDataFolder } from './runtime/enter-data-folder.ts'
export { armFailPoint, failPoint } from './runtime/fail-point.ts'
export { createFairQueue } from './runtime/fair-queue.ts'
export { createLogger, type Logger } from './runtime/logging.ts'
export { createNetworkQueue } from './runtime/network-queue.ts'
export {
  ForbiddenAddressError,
  guardAgent,
  http,
  https,
  isLocalAddress,
  isLoopback,
  networkMatcher,
} from './runtime/networks.ts'
export {
  databaseOptions,
  databaseUrl,
  hostUrl,
  issuerKey,
  logLevel,
  networkList,
  originList,
  publicUrl,
  type ServiceSettings,
  serviceSettings,
} from './runtime/service-settings.ts'
export { type Env, readSettings, Settings, SettingsError } from './runtime/settings.ts'
export {
  RESTORE_MARK,
  refuseUnfinishedRestore,
  restoreJournal,
  unfinishedSince,
} from './runtime/unfinished-restore.ts'
export { addChosenKey } from './service-keys/chosen-key.ts'
export { startKeyNotices } from './service-keys/expiring-keys.ts'
export {
  KEY_PROBLEMS,
  type KeyCaller,
  type KeyGuard,
  nameInAudit,
  onDenial,
  serviceKeyGuard,
} from './service-keys/key-guard.ts'
export { keyBody } from './service-keys/key-rights.ts'
export { isKeyText, looksLikeKey, newKeyText } from './service-keys/key-text.ts'
export { insufficientScope, scopeMissing } from './service-keys/problems.ts'
export { serviceKeyRoutes } from './service-keys/service-key-routes.ts'
export {
  endKeysMadeBy,
  isReservedName,
  type ServiceKey,
  type ServiceKeyTables,
  serviceKeyMigrations,
} from './service-keys/service-keys.repository.ts'
export {
  allServiceKeys,
  createServiceKey,
  isKeyCaller,
  isKeyCallerInForce,
  isServiceKeyInForce,
  type KeyEvent,
  keysMadeBy,
  openServiceKeys,
  revokeKeysMadeBy,
  revokeServiceKey,
  rotateServiceKey,
  type ServiceKeys,
} from './service-keys/service-keys.ts'
export {
  type AccessTokenSigner,
  type AccessTokenVerifier,
  createAccessTokenSigner,
  createAccessTokenVerifier,
  type SignAccessToken,
} from './tokens/access-token.ts'
export {
  type ClientTokens,
  createClientTokens,
} from './tokens/client-token.ts'
export {
  type IssuerTables,
  issuerMigrations,
} from './tokens/issuer/erased-users.repository.ts'
export {
  type ErasedUsers,
  eraseDeletedUsers,
  rememberUsers,
  startErasure,
} from './tokens/issuer/erased-users.ts'
export { createIntrospection, type Introspection } from './tokens/issuer/introspection.ts'
export { hashOpaqueToken, isSameSecret, newOpaqueToken } from './tokens/opaque-token.ts'
export { createRemoteIssuer } from './tokens/remote-issuer.ts'
export { openText, sealText } from './tokens/sealed-text.ts'
export {
  signPayload,
  verifyPayload,
} from './tokens/signed-payload.ts'
export { type SigningKeyTables, signingKeyMigrations } from './tokens/signing-keys.repository.ts'
export { openSigningKeys, type SigningKeys } from './tokens/signing-keys.ts'
export {
  continueTrace,
  inTrace,
  type Tracer,
  traceHeaders,
} from './tracing/trace-context.ts'
export { withSpan } from './tracing/tracer.ts'
