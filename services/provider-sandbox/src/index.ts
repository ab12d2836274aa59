export { createProviderSandbox } from './app.ts'
export { loadConfig, type SandboxConfig } from './config.ts'
