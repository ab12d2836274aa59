export { type Api, type ApiReply, apiFor } from './api.ts'
export { type TestClock, testClock } from './clock.ts'
export {
  bothEngines,
  engines,
  enginesWith,
  pooled,
  postgres,
  sqlite,
  type TestEngine,
} from './databases/engines.ts'
export { countRoundTrips } from './databases/round-trips.ts'
export { listenForTest } from './listen.ts'
export { asRoot } from './processes/as-root.ts'
export { NO_DRAIN, preloads, type SpawnedService, spawnService } from './processes/spawn.ts'
export { dropPrivileges, mayDropPrivileges } from './processes/unprivileged.ts'
export { propertyRuns } from './property-runs.ts'
export { checkReplies } from './replies.ts'
export { sampleFiles } from './sample-files.ts'
