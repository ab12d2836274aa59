export { type Api, type ApiReply, apiFor } from './testing/api.ts'
export { type TestClock, testClock } from './testing/clock.ts'
export { listenForTest } from './testing/listen.ts'
export { type SpawnedService, spawnService } from './testing/spawn.ts'
