import { enterDataFolder, run } from '@plinth/kit'
import { createStorageKey } from './app.ts'
import { loadConfig } from './config.ts'

await run(async () => {
  const config = enterDataFolder(loadConfig())
  return { ...config, server: await createStorageKey(config), portSetting: 'STORAGE_KEY_PORT' }
})
