import { mountAccounts } from '@plinth/accounts'
import { consoleFolder } from '@plinth/console'
import {
  actuatorRoutes,
  type Clock,
  consoleRoutes,
  createLogger,
  createServer,
  measureDisks,
  openDatabase,
  type Server,
  systemClock,
} from '@plinth/kit'
import type { IdentityConfig } from './config.ts'
import { identityMigrations } from './database/migrations/index.ts'
import type { IdentityTables } from './database/tables.ts'
import { startChallengeSweep } from './passkeys/challenges.ts'
import { createCsrfTokens } from './passkeys/csrf.ts'
import { disabledPasskeyRoutes, passkeyRoutes } from './passkeys/passkeys.routes.ts'

export { type IdentityConfig, loadConfig } from './config.ts'

const NAME = 'identity'
const VERSION = '2.0.0'

/** The wiring of the service, and every route it has. */
export async function createIdentity(
  config: IdentityConfig,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Server> {
  const log = createLogger(NAME, config.logLevel)
  const database = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations, {
    log,
  })
  const { db } = database
  const server = createServer({ ...config, log, clock })
  server.onClose(database.close)
  database.measure(server.metrics)
  measureDisks(server.metrics, { data: config.dataFolder })
  const { accounts, guard } = await mountAccounts(server, db, config.accounts)

  const { relyingParty, userVerification } = config
  const csrf = createCsrfTokens(accounts.settings.masterKey, clock)
  if (relyingParty) {
    const passkeys = { accounts, db, clock, relyingParty, userVerification }
    passkeyRoutes(server, passkeys, { guard, csrf })
    server.onClose(startChallengeSweep(passkeys, server).stop)
  } else {
    disabledPasskeyRoutes(server, { accounts, db, clock }, { guard, csrf })
    server.announcements.push(
      `passkeys are off: switched off, or not possible at ${config.publicUrl}`,
    )
  }
  actuatorRoutes(server, { name: NAME, version: VERSION, healthy: database.ping })
  consoleRoutes(server, consoleFolder('identity'))
  return server
}
