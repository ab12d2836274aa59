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
import { startChallengeSweep } from './challenge-sweep.ts'
import type { IdentityConfig } from './config.ts'
import { createCsrfTokens } from './csrf.ts'
import type { Identity } from './identity.ts'
import { identityMigrations } from './migrations/index.ts'
import { disabledPasskeyRoutes, passkeyRoutes } from './passkeys.routes.ts'
import type { IdentityTables } from './tables.ts'

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
  identity: Identity,
  { guard, log }: { guard: AccountGuard; log: Logger },
): void {
  const csrf = createCsrfTokens(identity.accounts.settings.masterKey, identity.clock)
  passkeyRoutes(server, identity, { guard, csrf })
  server.onClose(startChallengeSweep(identity, log).stop)
}

function announce({ accounts, relyingParty, publicUrl }: IdentityConfig, server: Server): void {
  if (accounts.demoAccounts)
    server.announcements.push('demo accounts are on: everybody knows their password')
  if (!relyingParty)
    server.announcements.push(`passkeys are off: switched off, or not possible at ${publicUrl}`)
}
