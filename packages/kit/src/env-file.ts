import { existsSync } from 'node:fs'

/** Settings from `.env` in the working directory; what is set outside wins. */
export function readEnvFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env')
}
