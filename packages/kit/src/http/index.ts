export { basePathOf, queryOf, requestedPath, targetOf } from './address/base-path.ts'
export { hostPathOf, mountServers } from './address/mounts.ts'
export { policySource } from './address/policy-source.ts'
export {
  type Caller,
  type Guard,
  type Health,
  logOf,
  type Reply,
  type Request,
  type Server,
} from './framework.ts'
export { type Authenticate, anyone, callerGuard, guarding } from './guards.ts'
export { CREDENTIALS_BODY_BYTES } from './hooks/bodies/before-bodies.ts'
export { isEncoded } from './hooks/bodies/encoding.ts'
export { acceptForms, FORM } from './hooks/bodies/forms.ts'
export {
  forgetUnreadableType,
  isTooDeep,
  parseJsonBodies,
  readInTurn,
} from './hooks/bodies/json.ts'
export { countReplies, type Result, resultOf, statusOf } from './hooks/measure.ts'
export type { RecentRequest } from './hooks/recent.ts'
export { addVary, answerPreflights, shareWithEveryone } from './hooks/replies.ts'
export { pageOf, pageQuery, pageReply, pageRequest, pageSize, textIn } from './page.ts'
export { preferredLanguage } from './preferred-language.ts'
export { handleProblems, renderProblem } from './problem-handler.ts'
export { PROBLEM_PAGE_HEADERS, renderProblemPage } from './problem-page.ts'
export { moment, momentIn, wholeNumber, wholeNumberIn } from './query.ts'
export { RECENT_SECONDS, recentSignIn } from './recent-sign-in.ts'
export { consoleRoutes } from './routes/console-pages.ts'
export { challengeFile } from './routes/doctor-challenge.ts'
export { type HealthCheck, worst, worstOf } from './routes/health.ts'
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
export { inScope } from './scope.ts'
export { createServer } from './server.ts'
export { emptyBody, faultsOf } from './validation.ts'
