import { inService, run } from '@plinth/kit/http'
import { enterDataFolder } from '@plinth/kit/runtime'
import { createIdentity } from './app.ts'
import { loadConfig } from './config.ts'

await run(() =>
  inService({ name: 'identity', prefix: 'IDENTITY_' }, async () => {
    const config = enterDataFolder(loadConfig())
    return { ...config, server: await createIdentity(config) }
  }),
)
