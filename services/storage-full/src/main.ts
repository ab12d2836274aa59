import { inService, run } from '@plinth/kit/http'
import { enterDataFolder } from '@plinth/kit/runtime'
import { createStorageFull } from './app.ts'
import { loadConfig } from './config.ts'

await run(() =>
  inService({ name: 'storage-full', prefix: 'STORAGE_FULL_' }, async () => {
    const config = enterDataFolder(loadConfig())
    return { server: await createStorageFull(config), host: config.host, port: config.port }
  }),
)
