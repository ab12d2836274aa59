import { consoleFolder } from '@plinth/console'
import { VERSION } from '@plinth/kit/database'
import { actuatorRoutes, consoleRoutes, createServer, type Server } from '@plinth/kit/http'
import type { Logger } from '@plinth/kit/logging'
import { systemClock } from '@plinth/kit/runtime'
import { traceHeaders } from '@plinth/kit/tracing'
import { backupHealthRoute } from '../backups/health.ts'
import type { BackupConfig, SuiteConfig } from '../config.ts'
import type { RunningService } from '../services.ts'
import { healthRoutes } from './health/health.routes.ts'
import type { History } from './health/history.ts'
import type { Activity } from './home/activity.ts'
import { homeRoutes } from './home/home.routes.ts'
import { consoleUrlAt } from './one-address.ts'

const HEALTH_TIMEOUT_MS = 3_000

type Surroundings = {
  log: Logger
  activity: Activity
  details: { history: History | undefined; backups: BackupConfig } | undefined
}

/** The page that lists what runs here, and the JSON behind it. */
export function createLanding(
  config: SuiteConfig,
  services: RunningService[],
  { log, details, activity }: Surroundings,
): Server {
  const server = createServer({ ...config, log, clock: systemClock })
  server.get('/api/services', (request) =>
    Promise.all(services.map((each) => describeService(each, server.baseUrlOf(request)))),
  )
  server.get('/.well-known/api-catalog', (_request, reply) => {
    reply.type(CATALOG_TYPE).send(apiCatalog(services))
  })
  actuatorRoutes(server, { name: 'landing', version: VERSION, healthy: async () => true })
  homeRoutes(server, services, activity)
  if (details?.history) healthRoutes(server, details.history.points)
  if (details) backupHealthRoute(server, details.backups)
  consoleRoutes(server, consoleFolder('landing'), '')
  return server
}

const CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

/** RFC 9727: where programs find the API documents. The sandbox mimics the provider's API and has none of its own. */
function apiCatalog(services: RunningService[]) {
  const own = services.filter(({ entry }) => !entry.standsIn)
  return {
    linkset: own.map(({ publicUrl }) => ({
      anchor: publicUrl,
      'service-desc': [{ href: `${publicUrl}/openapi.json`, type: 'application/json' }],
      'service-doc': [{ href: `${publicUrl}/reference`, type: 'text/html' }],
      status: [{ href: `${publicUrl}/actuator/health`, type: 'application/json' }],
    })),
  }
}

async function describeService(service: RunningService, suite: string) {
  const { entry, publicUrl, url, conveniences } = service
  return {
    name: entry.name,
    title: entry.title,
    description: entry.description,
    version: entry.version,
    url: publicUrl,
    /** Where this address serves it. */
    path: entry.path,
    consoleUrl: consoleUrlAt(suite, service),
    pages: pagesOf(service, suite),
    healthUrl: `${publicUrl}/actuator/health`,
    healthy: await isHealthy(url),
    logins: conveniences.logins ?? [],
    apiKey: conveniences.apiKey ?? null,
  }
}

/** Pages beside the console that a person may look for. */
function pagesOf(service: RunningService, suite: string): { title: string; href: string }[] {
  const { entry, publicUrl, conveniences } = service
  if (entry.standsIn) return []
  const hasAccounts = entry.signsForOthers === true
  return [
    { title: 'API reference', href: `${publicUrl}/reference` },
    ...(hasAccounts ? [{ title: 'Your account', href: `${publicUrl}/account/` }] : []),
    ...(conveniences.pages ?? []).map(({ title, at }) => ({
      title,
      href: consoleUrlAt(suite, service) + at,
    })),
  ]
}

/** Asks over HTTP, as a client would: a service that cannot answer is not healthy. */
async function isHealthy(url: string): Promise<boolean> {
  try {
    const reply = await fetch(`${url}/actuator/health`, {
      headers: traceHeaders(),
      signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS),
    })
    await reply.arrayBuffer()
    return reply.ok
  } catch {
    return false
  }
}
