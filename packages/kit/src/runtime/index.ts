/** The part of kit that every command loads first. It imports only Node's own modules, so it loads fast. */
export { systemClock } from './clock.ts'
export {
  giveFileToOwner,
  giveFolderToOwner,
  makeDataFolder,
  makeOwnedFolder,
} from './data-folder.ts'
export { enterDataFolder } from './enter-data-folder.ts'
export { armFailPoint } from './fail-point.ts'
export { isLocalAddress, isLoopback } from './networks.ts'
export { hostUrl, logLevel, serviceSettings } from './service-settings.ts'
export { type Env, readEnvFile, readSettings, type Settings } from './settings.ts'
export { restoreJournal } from './unfinished-restore.ts'
