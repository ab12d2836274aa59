import { existsSync } from 'node:fs'

/** Settings from a file in the working directory; what is set outside wins. */
export function readEnvFile(file: string): void {
  if (existsSync(file)) process.loadEnvFile(file)
}
