/** What a command needs before it knows its work: Node's own modules only, so it loads at once. */
export { systemClock } from './clock.ts'
export { armFailPoint } from './fail-point.ts'
export { isLoopback } from './networks.ts'
export { hostUrl, logLevel, serviceSettings } from './service-settings.ts'
export { type Env, readEnvFile, readSettings, type Settings } from './settings.ts'
