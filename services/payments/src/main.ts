import { readEnvFile, run } from '@plinth/kit'
import { createPayments } from './app.ts'
import { loadConfig } from './config.ts'

await run(async () => {
  readEnvFile()
  const config = loadConfig()
  return { server: await createPayments(config), ...config, portSetting: 'PAYMENTS_PORT' }
})
