import { enableCompileCache } from 'node:module'

// Saves a quarter of the start; it must be on before anything else is loaded.
enableCompileCache()
await import('./command.ts')
