import { enterDataFolder, run } from '@plinth/kit'
import { createProviderSandbox } from './app.ts'
import { loadConfig } from './config.ts'

await run(async () => {
  const config = enterDataFolder(loadConfig())
  const server = await createProviderSandbox(config)
  return { server, host: config.host, port: config.port, portSetting: 'SANDBOX_PORT' }
})
