import { openAccounts, operatorSettings, runUserCommand } from '@plinth/accounts'
import { openDatabase, Problem, systemClock } from '@plinth/kit'
import { loadConfig } from './config.ts'
import { identityMigrations } from './migrations/index.ts'
import type { IdentityTables } from './tables.ts'

/** `node services/identity/src/cli.ts user create alice alice@example.org` */
async function main([topic, ...words]: string[]): Promise<string> {
  const config = loadConfig()
  const { db, close } = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations)
  const accounts = await openAccounts(db, operatorSettings(config.accounts), systemClock)
  try {
    return await runUserCommand(accounts, topic === 'user' ? words : [])
  } finally {
    await accounts.close()
    await close()
  }
}

try {
  console.log(await main(process.argv.slice(2)))
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = error instanceof Problem ? 1 : 64
}
