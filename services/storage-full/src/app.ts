import { stat } from 'node:fs/promises'
import {
  ADMIN_ROLE,
  mountAccounts,
  type Operator,
  openAccounts,
  operatorOf,
  recordDenials,
  recordKeyEvents,
} from '@plinth/accounts'
import { consoleFolder } from '@plinth/console'
import {
  type ApiDescription,
  actuatorRoutes,
  type Clock,
  callerGuard,
  consoleRoutes,
  countReplies,
  createLogger,
  createServer,
  type Database,
  type Introspection,
  indexRoute,
  issuerUnavailable,
  type Logger,
  makeDataFolder,
  measureDisks,
  openApiRoutes,
  openDatabase,
  openServiceKeys,
  protectedResourceRoutes,
  type Server,
  type ServiceKeys,
  serviceKeyGuard,
  serviceKeyRoutes,
  sweepSpools,
  systemClock,
} from '@plinth/kit'
import type { StorageFullConfig } from './config.ts'
import { storageMigrations } from './database/migrations/index.ts'
import type { StorageTables } from './database/tables.ts'
import { fileRoutes, uploadRoute } from './files/files.routes.ts'
import { linkRoutes } from './files/links/links.routes.ts'
import { authenticateWith, enabledOwners, introspectionOf } from './files/owners.ts'
import type { Storage } from './files/storage.ts'
import { sumBytes } from './files/usage/usage.repository.ts'
import { usageRoutes } from './files/usage/usage.routes.ts'
import { locationRoutes } from './locations/locations.routes.ts'
import {
  findActiveLocation,
  prepareFirstStart,
  rememberActive,
  requireReadableSettings,
} from './locations/locations.ts'
import { createProviders } from './locations/providers/open.ts'
import { isWritable } from './locations/status.ts'
import { thumbnailRoutes } from './thumbnails/thumbnails.routes.ts'
import { createThumbnails } from './thumbnails/thumbnails.ts'
import { dataOpenedBy } from './upkeep/backup.ts'
import { startUpkeep } from './upkeep/jobs.ts'
import { moveRoutes } from './upkeep/moves.routes.ts'

export { loadConfig, type StorageFullConfig } from './config.ts'
export { PROVIDER_NAMES, type ProviderName } from './database/tables.ts'
export type { Storage } from './files/storage.ts'
export { runMoveNow } from './upkeep/jobs.ts'
export { requireMove, startMove } from './upkeep/moves.ts'
export { finishDeletions, sweep } from './upkeep/sweep.ts'
export { verifyFiles } from './upkeep/verify.ts'

const NAME = 'storage-full'
const VERSION = '2.0.0'

const API: ApiDescription = {
  title: 'Plinth storage, full edition',
  version: VERSION,
  description: 'Files with owners, temporary links, and where files are stored.',
  tags: {
    'Signing in': 'From credentials to a token pair, and back.',
    'Own account': 'What every user may see and change.',
    Files: 'Upload, list, read and delete.',
    Links: 'Temporary access without an account.',
    Storage: 'For administrators: where uploads go.',
    Moves: 'For administrators: all files from one store to another.',
    Users: 'For administrators: users, their sessions, and the audit.',
    'Service keys': 'For administrators: keys of the applications that call.',
    Operations: 'Health, keys, and this document.',
  },
}

const SCOPES = ['files:read', 'files:write', 'links:write', 'users:read', 'users:write'] as const

type Scope = (typeof SCOPES)[number]

/** The wiring of the service, and every route it has. */
export async function createStorageFull(
  config: StorageFullConfig,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Server> {
  const log = createLogger(NAME, config.logLevel)
  const introspection = introspectionOf(config.trustedIssuer, clock)
  const { storage, database, keys } = await openStorage(config, { clock, log, introspection })
  const server = createServer({ ...config, log, clock })
  server.onClose(database.close)
  measureStorage(server, storage, config)
  database.measure(server.metrics)
  server.onClose(storage.providers.close)
  const keyGuard = serviceKeyGuard(keys, { allowedOrigins: config.corsOrigins })
  const { accounts } = await mountAccounts(server, database.db, config.accounts, {
    keys: keyGuard,
  })
  const upkeep = startUpkeep(storage, server.metrics)
  server.onClose(upkeep.stop)

  const problems = config.trustedIssuer === undefined ? [] : [issuerUnavailable]
  const guard = callerGuard(
    authenticateWith(accounts, config.trustedIssuer, introspection),
    problems,
  )
  if (config.trustedIssuer) trustIssuer(server, config.publicUrl, config.trustedIssuer)
  const withKey = (scope: Scope) => recordDenials(accounts, keyGuard.or(scope, guard.caller))
  const [read, write] = [withKey('files:read'), withKey('files:write')]
  const admin = recordDenials(accounts, guard.role(ADMIN_ROLE))
  uploadRoute(server, storage, write)
  fileRoutes(server, storage, { read, write })
  thumbnailRoutes(server, storage, { caller: read, thumbnails: createThumbnails(storage) })
  linkRoutes(server, storage, { read, links: withKey('links:write') })
  usageRoutes(server, storage, { caller: read, admin })
  locationRoutes(server, storage, { admin, root: config.root })
  moveRoutes(server, storage, { admin, job: upkeep.moves })
  serviceKeyRoutes(server, keys, admin)

  const healthy = async () => (await database.ping()) && (await isWritable(storage))
  actuatorRoutes(server, { name: NAME, version: VERSION, healthy })
  consoleRoutes(server, consoleFolder('storage-full'))
  indexRoute(server, { name: NAME, version: VERSION })
  openApiRoutes(server, API, consoleFolder('reference'))
  return server
}

type Issuer = NonNullable<StorageFullConfig['trustedIssuer']>

function trustIssuer(server: Server, publicUrl: string, { issuer, key }: Issuer): void {
  protectedResourceRoutes(server, { publicUrl, issuer })
  if (key === undefined)
    server.announcements.push(
      'a disabled administrator of the issuer stays one for up to 15 minutes, and links of disabled users open: set STORAGE_FULL_TRUSTED_ISSUER_KEY',
    )
}

const COUNT_EVERY_SECONDS = 60

/** What an operator wants to know of the files. Called before the routes are added. */
function measureStorage(server: Server, { db }: Storage, config: StorageFullConfig): void {
  const { metrics } = server
  countReplies(
    server,
    { name: 'plinth_uploads_total', help: 'Uploads by result.' },
    { 'POST /file': {} },
  )
  metrics.gauge(
    { name: 'plinth_stored_bytes', help: 'Size of all stored files.' },
    () => sumBytes(db),
    COUNT_EVERY_SECONDS,
  )
  measureDisks(metrics, { data: config.dataFolder, files: config.root })
}

type OpenStorage = { storage: Storage; database: Database<StorageTables>; keys: ServiceKeys }

/** Everything but HTTP: for the service, and for the command line beside it. */
export async function openStorage(
  config: StorageFullConfig,
  { clock, log, introspection }: { clock: Clock; log: Logger; introspection?: Introspection },
): Promise<OpenStorage> {
  const database = await openDatabase<StorageTables>(config.databaseUrl, storageMigrations, {
    ...config.database,
    log,
    reserve: true,
  })
  const { spoolFolder, publicUrl, embed, limits } = config
  const providers = createProviders({
    ...config,
    masterKey: config.accounts.masterKey,
    endpoints: limits.objectEndpoints,
  })
  const { db, withReserve } = database
  const record = recordKeyEvents<StorageTables>(clock)
  const { production } = config
  const keys = openServiceKeys(db, { clock, production, scopes: SCOPES, record })
  const storage: Storage = {
    db,
    active: rememberActive(db, clock),
    withReserve,
    clock,
    log,
    providers,
    spoolFolder,
    publicUrl,
    isEnabledElsewhere: enabledOwners(keys, config.trustedIssuer, introspection),
    embed,
    limits,
  }
  try {
    await requireReadableSettings(storage)
    await prepareRoot(storage, config.root)
    await prepareFirstStart(storage)
  } catch (error) {
    await database.close().catch((failure) => {
      log.error({ err: failure }, 'closing after a failed start failed too')
    })
    throw error
  }
  return { storage, database, keys }
}

type OperatorDesk = {
  storage: Storage
  users: Operator
  keys: ServiceKeys
  close(): Promise<void>
}

/** For the command line: database and files of the service, whether or not it runs. */
export async function openForOperator(config: StorageFullConfig): Promise<OperatorDesk> {
  const log = createLogger(NAME, 'error')
  const { storage, database, keys } = await openStorage(config, { clock: systemClock, log })
  const accounts = await openAccounts(database.db, config.accounts, systemClock)
  const close = async () => {
    await accounts.close()
    storage.providers.close()
    await database.close()
  }
  return { storage, users: operatorOf(accounts), keys, close }
}

/** What a backup of this service has to keep. */
export const storageFullData = dataOpenedBy(openStorage)

/**
 * Creates the root as long as it holds no files. Later a missing root is a disk that is not
 * mounted: the service starts, and refuses uploads until the disk is back.
 */
async function prepareRoot({ db, log, spoolFolder }: Storage, root: string): Promise<void> {
  const active = await findActiveLocation(db)
  if (active?.provider !== 'LOCAL') makeDataFolder(root, 'SUITE_DATA or STORAGE_FULL_ROOT')
  const present = await stat(root).catch(() => undefined)
  if (present) await sweepSpools(spoolFolder)
  else log.error('the storage root does not exist: mount its disk, or create it')
}
