import { readEnvFile, run } from '@plinth/kit'
import { createPayments, loadConfig } from './index.ts'

await run(async () => {
  readEnvFile()
  const config = loadConfig()
  return { server: await createPayments(config), ...config, portSetting: 'PAYMENTS_PORT' }
})
