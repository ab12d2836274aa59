export { createStorageKey } from './app.ts'
export { loadConfig, type StorageKeyConfig } from './config.ts'
