import { inService, run } from '@plinth/kit/http'
import { enterDataFolder } from '@plinth/kit/runtime'
import { createPayments } from './app.ts'
import { loadConfig } from './config.ts'

await run(() =>
  inService({ name: 'payments', prefix: 'PAYMENTS_' }, async () => {
    const config = enterDataFolder(loadConfig())
    return { server: await createPayments(config), ...config, portSetting: 'PAYMENTS_PORT' }
  }),
)
