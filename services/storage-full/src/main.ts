import { run } from '@plinth/kit'
import { createStorageFull } from './app.ts'
import { loadConfig } from './config.ts'

await run(async () => {
  const config = loadConfig()
  return { server: await createStorageFull(config), host: config.host, port: config.port }
})
