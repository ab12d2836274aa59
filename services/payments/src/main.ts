import {
  asksForHelp,
  exitWith,
  keyUsage,
  openDatabase,
  readEnvFile,
  run,
  runKeyCommand,
  systemClock,
} from '@plinth/kit'
import { createPayments, paymentKeys, SCOPES } from './app.ts'
import { loadConfig } from './config.ts'
import { migrations } from './payment/database/migrations/index.ts'
import type { PaymentTables } from './payment/database/tables.ts'

const words = process.argv.slice(2)
if (words.length > 0 && words.join() !== '--help' && words.join() !== '-h')
  await runCommand(words).then((code) => process.exit(code), exitWith)
await run(async () => {
  readEnvFile()
  const config = loadConfig()
  return { server: await createPayments(config), ...config, portSetting: 'PAYMENTS_PORT' }
})

/** `node services/payments/src/main.ts keys create shop payments:read` */
async function runCommand([topic, ...rest]: string[]): Promise<number> {
  if (asksForHelp(rest)) {
    console.log(keyUsage(SCOPES))
    return 0
  }
  readEnvFile()
  const config = loadConfig()
  const { db, close } = await openDatabase<PaymentTables>(config.databaseUrl, migrations)
  const keys = paymentKeys(db, config, systemClock)
  const code = await runKeyCommand(keys, topic === 'keys' ? rest : [])
  // After a failure the process exits without closing, so that closing cannot hide the failure.
  await close()
  return code
}
