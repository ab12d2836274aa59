export {
  type AccessTokenSigner,
  type AccessTokenVerifier,
  createAccessTokenSigner,
  createAccessTokenVerifier,
  type SignAccessToken,
  type TokenSubject,
} from './access-token.ts'
export { type Clock, secondsAfter, systemClock } from './clock.ts'
export { makeDataFolder } from './data-folder.ts'
export { idColumn } from './database/columns.ts'
export { type Engine, engineOf, forUpdate, isUniqueViolation } from './database/engine.ts'
export type { LeaseTables } from './database/leases.repository.ts'
export { type Job, startJob, withLease } from './database/leases.ts'
export type { Migration } from './database/migrate.ts'
export { kitMigrations } from './database/migrations.ts'
export { type Database, type Db, openDatabase } from './database/open.ts'
export { prepared, preparedWrite } from './database/prepared.ts'
export { preparedFind } from './database/prepared-find.ts'
export { type Isolation, inTransaction } from './database/transaction.ts'
export { endOfTurn } from './end-of-turn.ts'
export { readEnvFile } from './env-file.ts'
export { armFailPoint, failPoint } from './fail-point.ts'
export { acceptUploads } from './files/accept-uploads.ts'
export { linkOnTheWay, type PathFault, pathFault } from './files/contained-path.ts'
export { contentDisposition } from './files/content-disposition.ts'
export { removeFile, syncFolder } from './files/durable-write.ts'
export type { FileBytes } from './files/file-bytes.ts'
export { requireFileType, type TypedFile, type TypeRules } from './files/file-type.ts'
export {
  extensionOf,
  FILE_TYPES,
  type FileType,
  type FileTypeName,
  fileTypes,
  mediaTypeOf,
} from './files/file-types.ts'
export { groupRuns } from './files/grouped-run.ts'
export { entityTag, type OpenFile, openRegularFile, readRange } from './files/open-file.ts'
export type { Pace } from './files/pace.ts'
export { type Representation, sendFile } from './files/send-file.ts'
export { HOST_NAME, Spool, type SpoolOptions, type SpoolReading, spoolPath } from './files/spool.ts'
export { sweepOldSpools, sweepSpools } from './files/sweep-spools.ts'
export { receiveUpload, type Upload, type UploadLimits } from './files/upload.ts'
export { generatedKey } from './generated-key.ts'
export { hostUrl } from './host-url.ts'
export { actuatorRoutes } from './http/actuator.ts'
export { type Authenticate, type Caller, callerGuard, type Guard } from './http/caller.ts'
export { consoleRoutes, pageHeaders } from './http/console-pages.ts'
export { jwksRoutes } from './http/jwks.ts'
export { listen } from './http/listen.ts'
export { type PageRequest, pageOf, pageRequest, type Sort } from './http/page.ts'
export { renderProblem } from './http/problem-handler.ts'
export {
  closeGracefully,
  closeOnSignals,
  EXIT,
  exitWith,
  type Running,
  run,
} from './http/run.ts'
export { emailText, optionalText, positiveInteger, requiredText } from './http/schemas.ts'
export { createServer, type Reply, type Request, type Server } from './http/server.ts'
export { Type } from './http/type.ts'
export { faultsOf } from './http/validation.ts'
export { createLogger, type Logger } from './logging.ts'
export { hashOpaqueToken, newOpaqueToken } from './opaque-token.ts'
export { defineProblem, Problem, type ProblemOptions } from './problem.ts'
export {
  accessDenied,
  accessTokenRejected,
  bodyTooLarge,
  callerUnknown,
  internalFailure,
  malformedBody,
  malformedRequest,
  mediaTypeUnsupported,
  methodNotAllowed,
  notFound,
  validationFailed,
} from './problems.ts'
export { createRemoteIssuer, type RemoteIssuer } from './remote-issuer.ts'
export { openText, SealBrokenError, sealText } from './sealed-text.ts'
export { databaseUrl, type ServiceSettings, serviceSettings } from './service-settings.ts'
export { type Env, readSettings, Settings, SettingsError } from './settings.ts'
export {
  type SignatureCheck,
  type SignatureVerdict,
  signPayload,
  verifyPayload,
} from './signed-payload.ts'
export { signingKeyMigrations } from './signing-keys.migrations.ts'
export type { SigningKeyTables } from './signing-keys.repository.ts'
export { openSigningKeys, type SigningKeys } from './signing-keys.ts'
export { StartError } from './start-error.ts'
