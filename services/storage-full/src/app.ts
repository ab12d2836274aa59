import { stat } from 'node:fs/promises'
import {
  ADMIN_ROLE,
  demoConveniences,
  keyRules,
  mountAccounts,
  type Operator,
  openAccounts,
  operatorOf,
  originOf,
  recordDenials,
  recordSecurityEvent,
  rotationFindings,
} from '@plinth/accounts'
import { consoleFolder } from '@plinth/console'
import { startErasure } from '@plinth/erased-users'
import {
  describeEvents,
  EVENT_SCOPES,
  eventGuards,
  insertSample,
  mountEvents,
} from '@plinth/events'
import { type Database, openDatabase } from '@plinth/kit/database'
import { sweepSpools } from '@plinth/kit/files'
import {
  type ApiDescription,
  actuatorRoutes,
  callerGuard,
  consoleRoutes,
  createServer,
  type Guard,
  type HealthCheck,
  indexRoute,
  openApiRoutes,
  recentSignIn,
  type Server,
  worstOf,
} from '@plinth/kit/http'
import { createLogger, type Logger } from '@plinth/kit/logging'
import { issuerUnavailable } from '@plinth/kit/problems'
import { type Clock, type Examined, makeOwnedFolder, systemClock } from '@plinth/kit/runtime'
import type { Introspection } from '@plinth/kit/tokens'
import {
  expiryFindings,
  openServiceKeys,
  type ServiceKeys,
  serviceKeyGuard,
  serviceKeyRoutes,
  startKeyNotices,
} from '@plinth/service-keys'
import manifest from '../package.json' with { type: 'json' }
import { recordStorageEvent, STORAGE_AUDIT_EVENTS } from './audit.ts'
import { bulkRoute } from './bulk/bulk.routes.ts'
import { loadConfig, type StorageFullConfig } from './config.ts'
import { storageMigrations } from './database/migrations/index.ts'
import type { StorageDb, StorageTables } from './database/tables.ts'
import { changeRoute } from './files/changes/changes.routes.ts'
import { deletionRoutes } from './files/deletions/deletions.routes.ts'
import { SOURCE, STORAGE_EVENTS } from './files/events.ts'
import { fileRoutes, uploadRoute } from './files/files.routes.ts'
import { folderRoutes } from './files/folders/folders.routes.ts'
import { linkRoutes } from './files/links/links.routes.ts'
import type { Storage } from './files/storage.ts'
import { measureStorage } from './files/usage/measure.ts'
import { usageRoutes } from './files/usage/usage.routes.ts'
import { versionRoutes } from './files/versions/versions.routes.ts'
import { limitRoutes } from './limits/limits.routes.ts'
import { applyChangedLimits, followLimits } from './limits/limits.ts'
import { locationRoutes } from './locations/locations.routes.ts'
import {
  findActiveLocation,
  prepareFirstStart,
  rememberActive,
  requireReadableSettings,
} from './locations/locations.ts'
import { createProviders } from './locations/providers/open.ts'
import { isWritable } from './locations/status.ts'
import { erasedOwners } from './owners/erasure.ts'
import { authenticateWith, enabledOwners, introspectionOf, trustIssuer } from './owners/owners.ts'
import { renditionsBeside } from './pictures/kept-beside.ts'
import { openPictures } from './pictures/open.ts'
import { pictureRoutes } from './pictures/pictures.routes.ts'
import { scannerFindings } from './scanning/doctor.ts'
import { fileInfected } from './scanning/problems.ts'
import { measureScans, openScanning } from './scanning/scanning.ts'
import { searchRoute } from './search/search.routes.ts'
import { createLanes } from './thumbnails/lanes.ts'
import { thumbnailRoutes } from './thumbnails/thumbnails.routes.ts'
import { createThumbnails } from './thumbnails/thumbnails.ts'
import { dataOpenedBy } from './upkeep/backup.ts'
import { bucketFindingsWith } from './upkeep/bucket.ts'
import { startUpkeep } from './upkeep/jobs.ts'
import { moveRoutes } from './upkeep/moves.routes.ts'
import { uploadPathFindings } from './uploads/doctor.ts'
import { measureUploads } from './uploads/measure.ts'
import { tusRoutes } from './uploads/tus.routes.ts'
import { TUS_CORS_HEADERS } from './uploads/tus.ts'
import { uploadListRoutes } from './uploads/uploads.routes.ts'
import { openUploads, type Uploads } from './uploads/uploads.ts'
import { zipRoutes } from './zip/zip.routes.ts'

export { loadConfig, type StorageFullConfig } from './config.ts'
export { PROVIDER_NAMES, type ProviderName } from './database/tables.ts'
export { emptyTrashOf } from './files/deletions/trash.ts'
export { describeFile, listedPage, pageInFolder } from './files/files.ts'
export { folderPath } from './files/folders/paths.ts'
export type { Storage } from './files/storage.ts'
export { createObjectProvider } from './locations/providers/object.ts'
export { openObjectClient } from './locations/providers/object-client.ts'
export { clearPictures } from './pictures/kept-beside.ts'
export { runMoveNow } from './upkeep/jobs.ts'
export { requireMove, startMove } from './upkeep/moves.ts'
export { finishDeletions, sweep } from './upkeep/sweep.ts'
export { verifyFiles } from './upkeep/verify.ts'
export { abortUpload, allUploads, expireUploads } from './uploads/expire.ts'

const NAME = 'storage-full'
const VERSION = manifest.apiVersion

const API: ApiDescription = {
  title: manifest.apiTitle,
  version: VERSION,
  description: 'Files with owners, temporary links, and where files are stored.',
  tags: {
    'Signing in': 'Signing in, refreshing and signing out.',
    'Own account': 'What every user may see and change.',
    Files: 'Upload, list, read, delete and restore.',
    Folders: 'Where files are, and finding them.',
    Uploads: 'Uploads that can be resumed: tus 1.0.0.',
    Versions: 'New content for a file, and what it was before.',
    Links: 'Temporary access without an account.',
    Storage: 'For administrators: where uploads go.',
    Moves: 'For administrators: all files from one store to another.',
    Users: 'For administrators: users, their sessions, and the audit.',
    Events: 'What has happened, and the endpoints that are notified.',
    'Service keys': 'For administrators: keys of the calling applications.',
    Operations: 'Health, keys, and this document.',
  },
  webhooks: describeEvents(STORAGE_EVENTS, SOURCE),
}

const FILE_SCOPES = ['files:read', 'files:write', 'links:write'] as const
const SCOPES = [...FILE_SCOPES, 'users:read', 'users:write', ...EVENT_SCOPES]

/** Wires up the service and all its routes. */
export async function createStorageFull(
  config: StorageFullConfig,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Server> {
  const log = createLogger(NAME, config.logLevel)
  const introspection = introspectionOf(config.trustedIssuer, clock)
  const { storage, database, keys } = await openStorage(config, { clock, log, introspection })
  const server = createServer({ ...config, log, clock, corsHeaders: TUS_CORS_HEADERS })
  server.onClose(database.close)
  const counts = measureStorage(server, storage, config)
  database.measure(server.metrics)
  server.onClose(storage.providers.close)
  const keyGuard = serviceKeyGuard(keys, { allowedOrigins: config.corsOrigins })
  const problems = config.trustedIssuer === undefined ? [] : [issuerUnavailable]
  const issuer = { trusted: config.trustedIssuer, introspection }
  const recent = recentSignIn({ ...config, clock })
  const { accounts, callers } = await mountAccounts(server, database.db, config.accounts, {
    keys: keyGuard,
    recent: () => recent,
    auditEvents: STORAGE_AUDIT_EVENTS,
    callers: (own) => callerGuard(authenticateWith(own, storage, issuer), problems),
  })
  const upkeep = startUpkeep(storage, server.metrics)
  server.onClose(upkeep.stop)

  if (config.trustedIssuer) trustIssuer(server, config.publicUrl, config.trustedIssuer)
  if (config.trustedIssuer && introspection) {
    const erased = erasedOwners(storage, config.trustedIssuer.issuer, introspection)
    server.onClose(startErasure(erased, { log, metrics: server.metrics }).stop)
  }
  const withKey = (scope: (typeof FILE_SCOPES)[number]) =>
    recordDenials(accounts, keyGuard.or(scope, callers.caller))
  const [read, write, links] = FILE_SCOPES.map(withKey) as [Guard, Guard, Guard]
  const admin = recordDenials(accounts, callers.role(ADMIN_ROLE))
  observeScans(server, storage)
  uploadRoute(server, storage, { write, countBytes: counts.bytes })
  mountUploads(server, openUploads(storage, config.uploads, counts), { read, write })
  fileRoutes(server, storage, read)
  deletionRoutes(server, storage, { read, write })
  versionRoutes(server, storage, { read, write, countBytes: counts.bytes })
  mountFolders(server, storage, { read, write })
  drawnRoutes(server, storage, { caller: read, offer: config.pictures })
  linkRoutes(server, storage, { read, links })
  zipRoutes(server, { storage, maxFiles: config.zipFiles }, links)
  usageRoutes(server, storage, { caller: read, admin })
  const live = followLimits(storage, config.limits)
  server.onClose(live.stop)
  limitRoutes(server, storage, { admin, recent, settings: config.limits, live })
  locationRoutes(server, storage, { admin, recent, root: config.root })
  moveRoutes(server, storage, { admin, recent, job: upkeep.moves })
  serviceKeyRoutes(server, keys, admin, recent)
  server.onClose(startKeyNotices(keys, server).stop)
  mountEvents(server, {
    db: database.db,
    source: SOURCE,
    settings: config.events,
    masterKey: config.accounts.masterKey,
    catalogue: STORAGE_EVENTS,
    guards: eventGuards(keyGuard, admin, recent),
    record: (to, { origin, ...entry }) =>
      recordSecurityEvent({ db: to, clock }, entry, { ...origin, userAgent: null }),
  })

  const healthy = worstOf(database.ping, () => isWritable(storage))
  mountOperations(server, config, healthy)
  return server
}

/** Health, the console, and the documents about the service. */
function mountOperations(
  server: Server,
  { trustedIssuer }: StorageFullConfig,
  healthy: HealthCheck,
): void {
  actuatorRoutes(server, { name: NAME, version: VERSION, healthy })
  const signsInAt = trustedIssuer?.issuer
  consoleRoutes(server, consoleFolder('storage-full'), undefined, { signsInAt })
  indexRoute(server, { name: NAME, version: VERSION })
  openApiRoutes(server, API, consoleFolder('reference'))
}

/** Whichever way the files came. */
function observeScans(server: Server, storage: Storage): void {
  measureScans(server.metrics, storage.scanning)
  server.addHook('onError', async (request, _reply, error) => {
    if (!fileInfected.is(error)) return
    const actor = request.caller.username
    const reason = String(error.extra.signature)
    const entry = { event: 'FILE_REFUSED', actor, subject: actor, result: 'REFUSED' } as const
    await recordStorageEvent(storage, { ...entry, reason }, originOf(request))
  })
}

/** Where files are, what is known about them, and how they are found. */
function mountFolders(
  server: Server,
  storage: Storage,
  { read, write }: { read: Guard; write: Guard },
): void {
  folderRoutes(server, storage, { read, write })
  changeRoute(server, storage, write)
  searchRoute(server, storage, read)
  bulkRoute(server, storage, write)
}

function mountUploads(
  server: Server,
  uploads: Uploads,
  { read, write }: { read: Guard; write: Guard },
): void {
  measureUploads(server.metrics, uploads.storage)
  uploadListRoutes(server, uploads, read)
  tusRoutes(server, uploads, write)
}

/** All that is drawn shares its turns and cores. */
function drawnRoutes(
  server: Server,
  storage: Storage,
  { caller, offer }: { caller: Guard; offer: StorageFullConfig['pictures'] },
): void {
  const lanes = createLanes()
  thumbnailRoutes(server, storage, { caller, thumbnails: createThumbnails(storage, lanes) })
  const drawing = { lanes: lanes.pictures, settings: offer, metrics: server.metrics }
  const pictures = openPictures(storage, drawing)
  server.onClose(pictures.stop)
  pictureRoutes(server, storage, { caller, pictures, offer })
}

type OpenStorage = { storage: Storage; database: Database<StorageTables>; keys: ServiceKeys }

/** Everything except HTTP, for the service and for the command line. */
export async function openStorage(
  config: StorageFullConfig,
  { clock, log, introspection }: { clock: Clock; log: Logger; introspection?: Introspection },
): Promise<OpenStorage> {
  const database = await openDatabase<StorageTables>(config.databaseUrl, storageMigrations, {
    ...config.database,
    log,
    reserve: true,
  })
  const { spoolFolder, publicUrl, embed, limits, production } = config
  const providers = createProviders({
    ...config,
    masterKey: config.accounts.masterKey,
    endpoints: limits.objectEndpoints,
  })
  const { db, withReserve } = database
  const rules = keyRules(clock, SOURCE)
  const keys = openServiceKeys(db, { clock, production, scopes: SCOPES, ...rules })
  const storage: Storage = {
    db,
    active: rememberActive(db, clock),
    withReserve,
    clock,
    log,
    providers,
    beside: renditionsBeside({ db, providers, withReserve }),
    scanning: openScanning(config.scan, log),
    spoolFolder,
    publicUrl,
    isEnabledElsewhere: enabledOwners(keys, config.trustedIssuer, introspection),
    embed,
    limits: { ...limits },
  }
  try {
    await requireReadableSettings(storage)
    await applyChangedLimits(storage, limits)
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
  publishSample(type: string): Promise<string>
  close(): Promise<void>
}

/** For the command line: the database and files of the service, whether or not it is running. */
export async function openForOperator(config: StorageFullConfig): Promise<OperatorDesk> {
  const log = createLogger(NAME, 'error')
  const { storage, database, keys } = await openStorage(config, { clock: systemClock, log })
  const accounts = await openAccounts(database.db, config.accounts, { clock: systemClock, log })
  const close = async () => {
    await accounts.close()
    storage.providers.close()
    await database.close()
  }
  const publishSample = (type: string) =>
    insertSample(database.db, STORAGE_EVENTS, { source: SOURCE, type, at: systemClock() })
  return { storage, users: operatorOf(accounts), keys, publishSample, close }
}

export const storageFullData = dataOpenedBy(openStorage)

/** For the launcher and the command line: what they do with any service, as this one does it. */
export const description = {
  loadConfig,
  create: createStorageFull,
  data: storageFullData,
  openForOperator,
  conveniences: ({ accounts }: StorageFullConfig) => demoConveniences(accounts),
  trustedIssuer: ({ trustedIssuer }: StorageFullConfig) =>
    trustedIssuer && { issuer: trustedIssuer.issuer, setting: 'STORAGE_FULL_TRUSTED_ISSUER' },
  cutOff: (config: StorageFullConfig): StorageFullConfig => ({
    ...config,
    trustedIssuer: undefined,
    events: { ...config.events, delivers: false },
  }),
  checks: {
    bucket: bucketFindingsWith(openStorage),
    scanner: scannerFindings,
    uploads: uploadPathFindings,
  },
  dataChecks: {
    'signing key': (db: StorageDb, examined: Examined, config: StorageFullConfig) =>
      rotationFindings(db, examined, config),
    'service keys': expiryFindings,
  },
}

/**
 * Creates the root as long as it holds no files. Later, a missing root means that its disk is not
 * mounted: the service starts, but refuses uploads until the disk is back.
 */
async function prepareRoot({ db, log, spoolFolder }: Storage, root: string): Promise<void> {
  const active = await findActiveLocation(db)
  if (active?.provider !== 'LOCAL') makeOwnedFolder(root, 'SUITE_DATA or STORAGE_FULL_ROOT')
  const present = await stat(root).catch(() => undefined)
  if (present) await sweepSpools(spoolFolder)
  else log.error('the storage root does not exist: mount its disk, or create it')
}
