/** Imports only Node's own modules, so that every command loads it fast. */
export { type AddressRules, faultOfUrl, forbiddenBy } from './address-rules.ts'
export { clientNetwork, networkShares, widestNetwork } from './client-networks.ts'
export {
  type Clock,
  DAY_MS,
  DAY_SECONDS,
  HOUR_MS,
  HOUR_SECONDS,
  isAhead,
  isRecent,
  MAX_CLOCK_SKEW_SECONDS,
  MINUTE_SECONDS,
  secondsAfter,
  systemClock,
} from './clock.ts'
export { coalesce } from './coalesce.ts'
export {
  generatedKey,
  giveFileToOwner,
  giveFolderToOwner,
  makeDataFolder,
  makeOwnedFolder,
  withoutSavingKeys,
} from './data-folder.ts'
export { enterDataFolder, markNewInstallation, unmountedFault } from './enter-data-folder.ts'
export { entryBeside } from './entry-beside.ts'
export { armFailPoint, failPoint } from './fail-point.ts'
export { createFairQueue } from './fair-queue.ts'
export { clockFindings, type Examined, type Finding, ok, skip } from './findings.ts'
export { createNetworkQueue } from './network-queue.ts'
export {
  ForbiddenAddressError,
  guardAgent,
  http,
  https,
  isLocalAddress,
  isLoopback,
  isNetworkWithin,
  networkMatcher,
} from './networks.ts'
export { startRounds } from './rounds.ts'
export {
  databaseOptions,
  databaseUrl,
  hostUrl,
  issuerKey,
  logLevel,
  networkList,
  originList,
  publicUrl,
  reauthenticate,
  type ServiceSettings,
  serviceSettings,
} from './service-settings.ts'
export { type Env, readEnvFile, readSettings, Settings, SettingsError } from './settings.ts'
export { inTurn, nextTurn } from './turns.ts'
export {
  RESTORE_MARK,
  refuseUnfinishedRestore,
  restoreJournal,
  unfinishedSince,
} from './unfinished-restore.ts'
