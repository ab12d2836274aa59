import { openAccounts, runUserCommand, USER_AND_PASSKEY_USAGE } from '@plinth/accounts'
import {
  asksForHelp,
  exitWith,
  keyUsage,
  openDatabase,
  readEnvFile,
  runKeyCommand,
  systemClock,
} from '@plinth/kit'
import { identityKeys } from './app.ts'
import { loadConfig } from './config.ts'
import { identityMigrations } from './database/migrations/index.ts'
import type { IdentityTables } from './database/tables.ts'
import { SCOPES } from './oauth/oauth.ts'
import { passkeyStore } from './passkeys/passkeys.ts'

/** `node services/identity/src/cli.ts user create alice alice@example.org` */
async function main([topic = '', ...words]: string[]): Promise<number> {
  if (asksForHelp([topic, ...words])) {
    console.log(topic === 'keys' ? keyUsage(SCOPES) : USER_AND_PASSKEY_USAGE)
    return 0
  }
  readEnvFile()
  const config = loadConfig()
  const { db, close } = await openDatabase<IdentityTables>(
    config.databaseUrl,
    identityMigrations,
    config.database,
  )
  const accounts = await openAccounts(db, config.accounts, systemClock)
  const code =
    topic === 'keys'
      ? await runKeyCommand(identityKeys(db, systemClock, config), words)
      : await runUserCommand(accounts, topic === 'user' ? words : [], passkeyStore)
  // After a failure the process exits without closing, so that closing cannot hide the failure.
  await accounts.close()
  await close()
  return code
}

main(process.argv.slice(2)).then((code) => process.exit(code), exitWith)
