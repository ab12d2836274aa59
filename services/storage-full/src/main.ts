import { enterDataFolder, run } from '@plinth/kit'
import { createStorageFull } from './app.ts'
import { loadConfig } from './config.ts'

await run(async () => {
  const config = enterDataFolder(loadConfig())
  return { server: await createStorageFull(config), host: config.host, port: config.port }
})
