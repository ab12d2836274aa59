import { enterDataFolder, run } from '@plinth/kit'
import { createIdentity } from './app.ts'
import { loadConfig } from './config.ts'

await run(async () => {
  const config = enterDataFolder(loadConfig())
  return { ...config, server: await createIdentity(config) }
})
