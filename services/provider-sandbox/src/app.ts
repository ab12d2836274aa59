import type { AddressInfo } from 'node:net'
import { consoleFolder } from '@plinth/console'
import { kitMigrations, openDatabase } from '@plinth/kit/database'
import {
  actuatorRoutes,
  consoleRoutes,
  createServer,
  indexRoute,
  renderProblem,
  type Server,
} from '@plinth/kit/http'
import { createLogger } from '@plinth/kit/logging'
import { type Clock, systemClock } from '@plinth/kit/runtime'
import manifest from '../package.json' with { type: 'json' }
import { apiRoutes } from './api/api.routes.ts'
import { createHeldCalls } from './api/faults/held-calls.ts'
import { loadConfig, type SandboxConfig } from './config.ts'
import { guardControls } from './controls/access.ts'
import { actionRoutes } from './controls/actions.routes.ts'
import { deliveryRoutes } from './controls/deliveries.routes.ts'
import { stateRoutes } from './controls/state.routes.ts'
import type { Controls } from './controls/state.ts'
import { hostedRoutes } from './pages/hosted/hosted.routes.ts'
import { refuseOtherSites } from './pages/other-sites.ts'
import { renderForApi } from './protocol/answer.ts'
import { acceptForms } from './protocol/form.ts'
import { startTicking } from './resources/timers.ts'
import { startDeliverer } from './resources/webhooks/deliverer.ts'
import { ensureConfiguredEndpoint } from './resources/webhooks/endpoints.ts'
import { movableClock } from './state/clock.ts'
import { migrations } from './state/migrations/index.ts'
import type { Sandbox } from './state/sandbox.ts'
import type { SandboxTables } from './state/tables.ts'
import { relaxDurability } from './state/values.repository.ts'

export { loadConfig, type SandboxConfig } from './config.ts'

const ABOUT = { name: 'provider-sandbox', version: manifest.apiVersion }

const MAX_BYTES = 1024 * 1024

const allMigrations = [...kitMigrations, ...migrations]

/** The whole sandbox. It delivers and runs timers until it is closed. */
export async function createProviderSandbox(
  config: SandboxConfig,
  { clock: trueClock = systemClock }: { clock?: Clock } = {},
): Promise<Server> {
  const log = createLogger('sandbox', config.logLevel)
  const database = await openDatabase<SandboxTables>(config.databaseUrl, allMigrations, {
    setting: 'SANDBOX_DATABASE_URL',
    log,
  })
  const clock = movableClock(trueClock, database.db)
  const server = createServer({
    log,
    clock,
    ...config,
    bodyLimitBytes: MAX_BYTES,
    renderProblem: (problem, request) =>
      renderForApi(problem, request.url) ?? renderProblem(problem, request),
  })
  database.measure(server.metrics)
  const publicUrl = () => publicUrlOf(server, config)
  const surroundings = { db: database.db, clock, trueClock, config, log, publicUrl }
  const deliverer = startDeliverer(surroundings)
  const sandbox: Sandbox = { ...surroundings, wake: deliverer.wake }
  const held = createHeldCalls()
  const controls: Controls = { sandbox, clock, deliverer, held }
  await relaxDurability(sandbox.db)
  await clock.load()
  await ensureConfiguredEndpoint(sandbox)

  refuseOtherSites(server, config.corsOrigins)
  guardControls(server, config)
  acceptForms(server)
  actuatorRoutes(server, { ...ABOUT, healthy: database.ping })
  apiRoutes(server, sandbox, held)
  hostedRoutes(server, sandbox)
  controlPageRoutes(server)
  actionRoutes(server, sandbox)
  deliveryRoutes(server, controls)
  stateRoutes(server, controls)

  server.addHook('preClose', async () => {
    held.close()
  })
  server.onClose(() => database.close())
  server.onClose(() => deliverer.stop())
  server.onClose(startTicking(sandbox))
  return server
}

/** The page with the controls is a console like those of the services. */
function controlPageRoutes(server: Server): void {
  const consolePath = '/sandbox'
  consoleRoutes(server, consoleFolder('sandbox'), consolePath)
  indexRoute(server, { ...ABOUT, consolePath })
}

/** The configured address, or the actual one when the system chose the port. */
function publicUrlOf(server: Server, { publicUrl }: SandboxConfig): string {
  const address = server.server.address() as AddressInfo | null
  if (new URL(publicUrl).port !== '0' || !address) return publicUrl
  return `http://localhost:${address.port}`
}

/** What a backup of this service must contain. */
function sandboxData({ databaseUrl: url }: SandboxConfig) {
  const database = { url, setting: 'SANDBOX_DATABASE_URL', migrations: allMigrations, sealed: {} }
  return { name: ABOUT.name, database, keys: {} }
}

/** For the launcher and the command line: what they do with any service, as this one does it. */
export const description = {
  loadConfig,
  create: createProviderSandbox,
  data: sandboxData,
  conveniences: () => ({ named: ['a payment provider that moves no money'] }),
  cutOff: (config: SandboxConfig): SandboxConfig => ({ ...config, webhook: undefined }),
}
