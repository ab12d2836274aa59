import { enterDataFolder, inService, run } from '@plinth/kit'
import { createProviderSandbox } from './app.ts'
import { loadConfig } from './config.ts'

await run(() =>
  inService({ name: 'provider-sandbox', prefix: 'SANDBOX_' }, async () => {
    const config = enterDataFolder(loadConfig())
    const server = await createProviderSandbox(config)
    return { server, host: config.host, port: config.port, portSetting: 'SANDBOX_PORT' }
  }),
)
