export { createIdentity } from './app.ts'
export { type IdentityConfig, loadConfig } from './config.ts'
