import { openAccounts, runUserCommand } from '@plinth/accounts'
import { exitWith, openDatabase, readEnvFile, systemClock } from '@plinth/kit'
import { loadConfig } from './config.ts'
import { identityMigrations } from './database/migrations/index.ts'
import type { IdentityTables } from './database/tables.ts'

/** `node services/identity/src/cli.ts user create alice alice@example.org` */
async function main([topic, ...words]: string[]): Promise<number> {
  readEnvFile()
  const config = loadConfig()
  const { db, close } = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations)
  const accounts = await openAccounts(db, config.accounts, systemClock)
  try {
    return await runUserCommand(accounts, topic === 'user' ? words : [])
  } finally {
    await accounts.close()
    await close()
  }
}

main(process.argv.slice(2)).then((code) => process.exit(code), exitWith)
