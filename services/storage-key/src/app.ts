import { consoleFolder } from '@plinth/console'
import {
  type ApiDescription,
  acceptUploads,
  actuatorRoutes,
  type Clock,
  consoleRoutes,
  countReplies,
  createLogger,
  createServer,
  indexRoute,
  measureDisks,
  openApiRoutes,
  requestedPath,
  type Server,
  systemClock,
} from '@plinth/kit'
import { answerOptions, KEY_ACCESS, requireKey } from './access.ts'
import { DEVELOPMENT_KEY, type StorageKeyConfig } from './config.ts'
import { fileRoutes } from './files.routes.ts'
import { isHealthy, openFileStore, startSweeping } from './files.ts'
import { describeErrors, renderBrokenRequest, renderError } from './problems.ts'
import { routeOf } from './request-target.ts'

export { loadConfig, type StorageKeyConfig } from './config.ts'

const NAME = 'storage-key'
const VERSION = '2.0.0'

const API: ApiDescription = {
  title: 'Plinth storage, key edition',
  version: VERSION,
  description: 'A flat folder of files behind one key.',
  tags: { Files: 'Upload, list, read and delete.', Operations: 'Health, and this document.' },
  database: false,
  accessTo: (url) => (url.startsWith('/file') ? [KEY_ACCESS] : []),
  problemForm: describeErrors,
}

/** The wiring of the service, and every route it has. */
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
  answerOptions(server)
  requireKey(server, config.apiKey)
  server.removeAllContentTypeParsers()
  acceptUploads(server, '*')
  fileRoutes(server, store)
  actuatorRoutes(server, {
    name: NAME,
    version: VERSION,
    healthy: () => isHealthy(store),
    discovery: config.actuator === 'full',
  })
  server.pageFacts.uploads = { maxFileBytes: config.maxFileBytes }
  consoleRoutes(server, consoleFolder('storage-key'))
  indexRoute(server, { name: NAME, version: VERSION })
  openApiRoutes(server, API, consoleFolder('reference'))
  return server
}

/** What a backup of this service has to keep. */
export function storageKeyData({ root }: StorageKeyConfig) {
  return { name: NAME, keys: {}, root }
}
