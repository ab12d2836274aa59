export { createStorageFull } from './app.ts'
export { loadConfig, type StorageFullConfig } from './config.ts'
