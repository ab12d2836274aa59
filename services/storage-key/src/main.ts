import { inService, run } from '@plinth/kit/http'
import { enterDataFolder } from '@plinth/kit/runtime'
import { createStorageKey } from './app.ts'
import { loadConfig } from './config.ts'

await run(() =>
  inService({ name: 'storage-key', prefix: 'STORAGE_KEY_' }, async () => {
    const config = enterDataFolder(loadConfig())
    return { ...config, server: await createStorageKey(config), portSetting: 'STORAGE_KEY_PORT' }
  }),
)
