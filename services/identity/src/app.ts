import {
  type AccountGuard,
  accountGuard,
  auditRoutes,
  openAccounts,
  sessionRoutes,
  startMaintenance,
  userRoutes,
} from '@plinth/accounts'
import { consoleFolder } from '@plinth/console'
import {
  actuatorRoutes,
  type Clock,
  consoleRoutes,
  createLogger,
  createServer,
  jwksRoutes,
  type Logger,
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
import type { Passkeys } from './passkeys/passkeys.ts'

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
  const accounts = await openAccounts(db, config.accounts, clock).catch(async (error) => {
    await database.close()
    throw error
  })
  const server = createServer({ ...config, log, clock })
  server.onClose(database.close)
  server.onClose(accounts.close)
  server.onClose(startMaintenance(accounts, log).stop)

  const guard = accountGuard(accounts)
  userRoutes(server, accounts, guard)
  sessionRoutes(server, accounts, guard)
  auditRoutes(server, accounts, guard)
  const { relyingParty } = config
  announce(config, server)
  if (relyingParty) servePasskeys(server, { accounts, db, clock, relyingParty }, { guard, log })
  else disabledPasskeyRoutes(server, guard)
  jwksRoutes(server, accounts.signingKeys)
  actuatorRoutes(server, { name: NAME, version: VERSION, healthy: database.ping })
  consoleRoutes(server, consoleFolder('identity'))
  return server
}

function servePasskeys(
  server: Server,
  passkeys: Passkeys,
  { guard, log }: { guard: AccountGuard; log: Logger },
): void {
  const csrf = createCsrfTokens(passkeys.accounts.settings.masterKey, passkeys.clock)
  passkeyRoutes(server, passkeys, { guard, csrf })
  server.onClose(startChallengeSweep(passkeys, log).stop)
}

function announce({ accounts, relyingParty, publicUrl }: IdentityConfig, server: Server): void {
  if (accounts.demoAccounts)
    server.announcements.push('demo accounts are on: everybody knows their password')
  if (!relyingParty)
    server.announcements.push(`passkeys are off: switched off, or not possible at ${publicUrl}`)
}
