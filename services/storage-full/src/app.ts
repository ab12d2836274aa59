import {
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
  callerGuard,
  consoleRoutes,
  createLogger,
  createServer,
  jwksRoutes,
  type Server,
  systemClock,
} from '@plinth/kit'
import type { StorageFullConfig } from './config.ts'
import { fileBytesRoutes } from './file-bytes.routes.ts'
import { fileRoutes, uploadRoute } from './files.routes.ts'
import { ADMIN_ROLE } from './files.ts'
import { startHousekeeping } from './housekeeping.ts'
import { moveRoutes } from './moves.routes.ts'
import { openStorage } from './open-storage.ts'
import { storageAdminRoutes } from './storage-admin.routes.ts'
import { temporaryLinkRoutes } from './temporary-links.routes.ts'
import { authenticateWith } from './trusted-callers.ts'

export const NAME = 'storage-full'
export const VERSION = '2.0.0'

/** The wiring of the service, and every route it has. */
export async function createStorageFull(
  config: StorageFullConfig,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Server> {
  const log = createLogger(NAME, config.logLevel)
  const { storage, database } = await openStorage(config, { clock, log })
  const accounts = await openAccounts(database.db, config.accounts, clock).catch(async (error) => {
    storage.providers.close()
    await database.close()
    throw error
  })
  const housekeeping = startHousekeeping(storage, config.root)
  const server = createServer({ ...config, name: NAME, version: VERSION, log, clock })
  server.onClose(database.close)
  server.onClose(storage.providers.close)
  server.onClose(accounts.close)
  server.onClose(startMaintenance(accounts, log).stop)
  server.onClose(housekeeping.stop)
  if (config.accounts.demoAccounts)
    server.announcements.push('demo accounts are on: everybody knows their password')

  const accountCallers = accountGuard(accounts)
  userRoutes(server, accounts, accountCallers)
  sessionRoutes(server, accounts, accountCallers)
  auditRoutes(server, accounts, accountCallers)
  jwksRoutes(server, accounts.signingKeys)

  const guard = callerGuard(authenticateWith(accounts, config.trustedIssuer))
  const admin = guard.role(ADMIN_ROLE)
  uploadRoute(server, storage, guard.caller)
  fileRoutes(server, storage, guard.caller)
  fileBytesRoutes(server, storage, guard.caller)
  temporaryLinkRoutes(server, storage, guard.caller)
  storageAdminRoutes(server, storage, { admin, root: config.root })
  moveRoutes(server, storage, { admin, job: housekeeping.moves })

  actuatorRoutes(server, { name: NAME, version: VERSION, healthy: database.ping })
  consoleRoutes(server, consoleFolder('storage-full'))
  return server
}
