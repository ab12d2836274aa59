export { basePathOf, requestedPath, targetOf } from './address/base-path.ts'
export { hostPathOf, mountServers } from './address/mounts.ts'
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
} from './framework.ts'
export {
  CREDENTIALS_BODY_BYTES,
  forgetUnreadableType,
  isEncoded,
  isTooDeep,
  parseJsonBodies,
  readInTurn,
} from './hooks/bodies.ts'
export { countReplies } from './hooks/measure.ts'
export { pageOf, pageQuery, pageReply, pageRequest, pageSize, textIn } from './page.ts'
export { handleProblems, renderProblem } from './problem-handler.ts'
export { consoleRoutes } from './routes/console-pages.ts'
export { challengeFile } from './routes/doctor-challenge.ts'
export { type HealthCheck, readinessOf, worst, worstOf } from './routes/health.ts'
export type { ApiDescription } from './routes/openapi/document.ts'
export { exampleOf } from './routes/openapi/schemas.ts'
export { openApiRoutes } from './routes/openapi/serve.ts'
export { type Access, bareReply, eitherAccess, noContent, replyWith } from './routes/operations.ts'
export { indexRoute } from './routes/service-index.ts'
export {
  actuatorRoutes,
  componentHealthRoute,
  jwksRoutes,
  protectedResourceRoutes,
} from './routes/standard.routes.ts'
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
} from './run.ts'
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
} from './schema.ts'
export { createServer } from './server.ts'
