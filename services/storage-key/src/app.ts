import { consoleFolder } from '@plinth/console'
import { acceptUploads } from '@plinth/kit/files'
import {
  type ApiDescription,
  actuatorRoutes,
  consoleRoutes,
  countReplies,
  createServer,
  indexRoute,
  openApiRoutes,
  requestedPath,
  type Server,
} from '@plinth/kit/http'
import { createLogger } from '@plinth/kit/logging'
import { measureDisks } from '@plinth/kit/metrics'
import { type Clock, systemClock } from '@plinth/kit/runtime'
import {
  expiryFindings,
  type KeyGuard,
  serviceKeyGuard,
  startKeyNotices,
} from '@plinth/service-keys'
import manifest from '../package.json' with { type: 'json' }
import { DEVELOPMENT_KEY, loadConfig, type StorageKeyConfig } from './config.ts'
import { fileRoutes } from './files.routes.ts'
import { ACCEPTED, isHealthy, openFileStore, startSweeping } from './files.ts'
import { adminGuard, answerOptions, configuredKey, keyAccess, requireKey } from './keys/access.ts'
import { keyRoutes } from './keys/keys.routes.ts'
import { openKeyStore, requireKeyStore } from './keys/keys.ts'
import { keyMigrations } from './keys/migrations/0001-key-events.ts'
import { describeErrors, renderBrokenRequest, renderError } from './problems.ts'
import { routeOf } from './request-target.ts'

export { loadConfig, type StorageKeyConfig } from './config.ts'

const NAME = 'storage-key'
const VERSION = manifest.apiVersion

const apiWith = (keys: KeyGuard | undefined): ApiDescription => ({
  title: manifest.apiTitle,
  version: VERSION,
  description: 'A flat folder of files behind one key.',
  tags: {
    Files: 'Upload, list, read and delete.',
    ...(keys && { 'Service keys': 'For the holder of the configured key.' }),
    Operations: 'Health, and this document.',
  },
  database: false,
  accessTo: (url) => (url.startsWith('/file') ? [keyAccess(keys)] : []),
  problemForm: describeErrors,
})

/** Wires up the service and all its routes. */
export async function createStorageKey(
  config: StorageKeyConfig,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Server> {
  const log = createLogger(NAME, config.logLevel)
  const server = createServer({
    ...config,
    log,
    clock,
    renderProblem: (problem, request) =>
      renderError(problem, { path: requestedPath(request), at: clock() }),
    renderBrokenRequest: (status, message) => renderBrokenRequest(status, message, clock()),
    rewriteUrl: routeOf,
  })
  const store = await openFileStore(config)
  const keyStore = await openKeyStore(config, { clock, log })
  if (keyStore) {
    server.onClose(keyStore.close)
    server.onClose(startKeyNotices(keyStore.keys, server).stop)
  }
  const keys = keyStore && serviceKeyGuard(keyStore.keys, { allowedOrigins: config.corsOrigins })
  server.onClose(await startSweeping(store, log))
  if (config.apiKey === DEVELOPMENT_KEY)
    server.announcements.push(
      'the development key is in use: set STORAGE_KEY_API_KEY before others can reach this',
    )

  countReplies(
    server,
    { name: 'plinth_uploads_total', help: 'Uploads by result.' },
    { 'POST /file': {} },
  )
  measureDisks(server.metrics, { files: config.root })
  keyStore?.measure(server.metrics)
  answerOptions(server)
  const isConfiguredKey = configuredKey(config.apiKey)
  requireKey(server, isConfiguredKey, keys)
  acceptUploads(server)
  fileRoutes(server, store)
  if (keyStore) keyRoutes(server, keyStore, adminGuard(isConfiguredKey))
  actuatorRoutes(server, {
    name: NAME,
    version: VERSION,
    healthy: () => isHealthy(store),
    discovery: config.actuator === 'full',
  })
  server.tellPages(() => ({
    ...(config.apiKey === DEVELOPMENT_KEY && { developmentKey: DEVELOPMENT_KEY }),
    serviceKeys: keyStore !== undefined,
    uploads: { maxFileBytes: config.maxFileBytes, types: ACCEPTED },
  }))
  consoleRoutes(server, consoleFolder('storage-key'))
  indexRoute(server, { name: NAME, version: VERSION })
  openApiRoutes(server, apiWith(keys), consoleFolder('reference'))
  return server
}

/** The data of this service that a backup must contain. */
function storageKeyData({ root, databaseUrl: url }: StorageKeyConfig) {
  const setting = 'STORAGE_KEY_DATABASE_URL'
  const database =
    url === undefined ? undefined : { url, setting, migrations: keyMigrations, sealed: {} }
  return { name: NAME, database, keys: {}, root }
}

/** For the command line: the service keys, whether or not the service is running. */
export function openForOperator(config: StorageKeyConfig) {
  return requireKeyStore(config, systemClock)
}

/** For the launcher and the command line: what they do with any service, as this one does it. */
export const description = {
  loadConfig,
  create: createStorageKey,
  data: storageKeyData,
  openForOperator,
  conveniences: ({ apiKey }: StorageKeyConfig) =>
    apiKey === DEVELOPMENT_KEY ? { named: ['a known API key'], apiKey } : { named: [] },
  // It calls no other program.
  cutOff: (config: StorageKeyConfig) => config,
  dataChecks: { 'service keys': expiryFindings },
}
