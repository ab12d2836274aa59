import { stat } from 'node:fs/promises'
import { type Accounts, identifyCaller, mountAccounts } from '@plinth/accounts'
import { consoleFolder } from '@plinth/console'
import {
  type Authenticate,
  actuatorRoutes,
  type Clock,
  callerGuard,
  consoleRoutes,
  createLogger,
  createRemoteIssuer,
  createServer,
  type Database,
  type Logger,
  makeDataFolder,
  openDatabase,
  type Server,
  sweepSpools,
  systemClock,
} from '@plinth/kit'
import type { StorageFullConfig } from './config.ts'
import { storageMigrations } from './database/migrations/index.ts'
import type { StorageTables } from './database/tables.ts'
import { fileBytesRoutes, fileRoutes, uploadRoute } from './files/files.routes.ts'
import { ADMIN_ROLE } from './files/files.ts'
import { temporaryLinkRoutes } from './files/links.routes.ts'
import type { Storage } from './files/storage.ts'
import { locationRoutes } from './locations/locations.routes.ts'
import {
  findActiveLocation,
  prepareFirstStart,
  requireReadableSettings,
} from './locations/locations.ts'
import { createProviders } from './locations/providers/open.ts'
import { thumbnailRoutes } from './thumbnails/thumbnails.routes.ts'
import { createThumbnails } from './thumbnails/thumbnails.ts'
import { startHousekeeping } from './upkeep/jobs.ts'
import { moveRoutes } from './upkeep/moves.routes.ts'

export { loadConfig, type StorageFullConfig } from './config.ts'

const NAME = 'storage-full'

const VERSION = '2.0.0'

/** The wiring of the service, and every route it has. */
export async function createStorageFull(
  config: StorageFullConfig,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Server> {
  const log = createLogger(NAME, config.logLevel)
  const { storage, database } = await openStorage(config, { clock, log })
  const server = createServer({ ...config, log, clock })
  server.onClose(database.close)
  server.onClose(storage.providers.close)
  const { accounts } = await mountAccounts(server, database.db, config.accounts)
  const housekeeping = startHousekeeping(storage)
  server.onClose(housekeeping.stop)

  const guard = callerGuard(authenticateWith(accounts, config.trustedIssuer))
  const admin = guard.role(ADMIN_ROLE)
  uploadRoute(server, storage, guard.caller)
  fileRoutes(server, storage, guard.caller)
  fileBytesRoutes(server, storage, guard.caller)
  thumbnailRoutes(server, storage, {
    caller: guard.caller,
    thumbnails: createThumbnails(storage),
  })
  temporaryLinkRoutes(server, storage, guard.caller)
  locationRoutes(server, storage, { admin, root: config.root })
  moveRoutes(server, storage, { admin, job: housekeeping.moves })

  actuatorRoutes(server, { name: NAME, version: VERSION, healthy: database.ping })
  consoleRoutes(server, consoleFolder('storage-full'))
  return server
}

type OpenStorage = { storage: Storage; database: Database<StorageTables> }

/** Everything but HTTP: for the service, and for the command line beside it. */
export async function openStorage(
  config: StorageFullConfig,
  { clock, log }: { clock: Clock; log: Logger },
): Promise<OpenStorage> {
  const database = await openDatabase<StorageTables>(config.databaseUrl, storageMigrations, { log })
  const storage: Storage = {
    db: database.db,
    clock,
    log,
    providers: createProviders({ ...config, masterKey: config.accounts.masterKey }),
    spoolFolder: config.spoolFolder,
    publicUrl: config.publicUrl,
    limits: config.limits,
  }
  try {
    await requireReadableSettings(storage)
    await prepareRoot(storage, config.root)
    await prepareFirstStart(storage)
  } catch (error) {
    await database.close()
    throw error
  }
  return { storage, database }
}

/**
 * The root is made while no files of ours are in it. Later a missing one is a disk that is not
 * mounted: the service starts, and refuses uploads until the disk is back.
 */
async function prepareRoot({ db, log, spoolFolder }: Storage, root: string): Promise<void> {
  const active = await findActiveLocation(db)
  if (active?.provider !== 'LOCAL') makeDataFolder(root, 'SUITE_DATA or STORAGE_FULL_ROOT')
  const present = await stat(root).catch(() => undefined)
  if (present) await sweepSpools(spoolFolder)
  else log.error('the storage root does not exist: mount its disk, or create it')
}

/**
 * Callers with an account here and, if it is configured, users of one other issuer. Both count
 * their users from 1, so the issuer becomes a part of a foreign user's id.
 */
function authenticateWith(accounts: Accounts, trustedIssuer: string | undefined): Authenticate {
  if (trustedIssuer === undefined) return (token) => identifyCaller(accounts, token)
  const { clock, settings } = accounts
  const remote = createRemoteIssuer({
    issuer: trustedIssuer,
    audience: settings.audience,
    clock,
  })
  return async (token) => {
    const local = await identifyCaller(accounts, token)
    if (local) return local
    const subject = await remote.verify(token)
    return subject && { ...subject, userId: `${trustedIssuer}#${subject.userId}` }
  }
}
