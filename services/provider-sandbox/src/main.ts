import { inService, run } from '@plinth/kit/http'
import { enterDataFolder } from '@plinth/kit/runtime'
import { createProviderSandbox } from './app.ts'
import { loadConfig } from './config.ts'

await run(() =>
  inService({ name: 'provider-sandbox', prefix: 'SANDBOX_' }, async () => {
    const config = enterDataFolder(loadConfig())
    const server = await createProviderSandbox(config)
    return { server, host: config.host, port: config.port, portSetting: 'SANDBOX_PORT' }
  }),
)
