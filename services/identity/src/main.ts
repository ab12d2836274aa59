import { readEnvFile, run } from '@plinth/kit'
import { createIdentity } from './app.ts'
import { loadConfig } from './config.ts'

await run(async () => {
  readEnvFile()
  const config = loadConfig()
  return { ...config, server: await createIdentity(config) }
})
