import {
  actuatorRoutes,
  type Clock,
  createLogger,
  createServer,
  kitMigrations,
  openDatabase,
  type Server,
  systemClock,
} from '@plinth/kit'
import { apiRoutes } from './api/api.routes.ts'
import { parseFormBodies } from './api/form-bodies.ts'
import { deleteUnfinishedKeys } from './api/idempotency.repository.ts'
import { renderForApi } from './api/problem-envelope.ts'
import type { SandboxConfig } from './config.ts'
import { actionRoutes } from './control/actions.routes.ts'
import type { Controls } from './control/controls.ts'
import { deliveryRoutes } from './control/deliveries.routes.ts'
import { faultRoutes } from './control/fault.routes.ts'
import { pageRoutes } from './control/page/page.routes.ts'
import { scenarioRoutes } from './control/scenario.routes.ts'
import { stateRoutes } from './control/state.routes.ts'
import { createHeldCalls } from './faults/held-calls.ts'
import { hostedRoutes } from './hosted/hosted.routes.ts'
import { state } from './migrations/0001-state.ts'
import { deliveries } from './migrations/0002-deliveries.ts'
import { faultsAndRequests } from './migrations/0003-faults-and-requests.ts'
import { refuseOtherSites } from './pages/other-sites.ts'
import { publicUrlOf } from './public-url.ts'
import type { Sandbox } from './sandbox.ts'
import { relaxDurability } from './state/state.repository.ts'
import type { SandboxTables } from './tables.ts'
import { movableClock } from './time/sandbox-clock.ts'
import { startTicking } from './time/ticking.ts'
import { startDeliverer } from './webhooks/deliverer.ts'
import { ensureEndpointOfSettings } from './webhooks/webhook-endpoints.ts'

const VERSION = '1.0.0'
const MIGRATIONS = [...kitMigrations, state, deliveries, faultsAndRequests]

/** The whole sandbox; it delivers and keeps time until it is closed. */
export async function createProviderSandbox(
  config: SandboxConfig,
  { clock: trueClock = systemClock }: { clock?: Clock } = {},
): Promise<Server> {
  const log = createLogger('sandbox', config.logLevel)
  const database = await openDatabase<SandboxTables>(config.databaseUrl, MIGRATIONS, { log })
  const clock = movableClock(trueClock, database.db)
  const server = createServer({
    name: 'provider-sandbox',
    version: VERSION,
    log,
    clock,
    trustedProxies: config.trustedProxies,
    corsOrigins: config.corsOrigins,
    renderProblem: renderForApi,
  })
  const sandbox: Sandbox = {
    db: database.db,
    clock,
    trueClock,
    config,
    log,
    publicUrl: () => publicUrlOf(server, config),
    wake: () => deliverer.wake(),
  }
  const deliverer = startDeliverer(sandbox)
  const held = createHeldCalls()
  const controls: Controls = { sandbox, clock, deliverer, held }
  await relaxDurability(sandbox.db)
  await clock.load()
  await deleteUnfinishedKeys(sandbox.db)
  await ensureEndpointOfSettings(sandbox)

  refuseOtherSites(server, config.corsOrigins)
  parseFormBodies(server)
  actuatorRoutes(server, { name: 'provider-sandbox', version: VERSION, healthy: database.ping })
  apiRoutes(server, sandbox, held)
  hostedRoutes(server, sandbox)
  pageRoutes(server, controls)
  actionRoutes(server, controls)
  deliveryRoutes(server, controls)
  faultRoutes(server, controls)
  scenarioRoutes(server, controls)
  stateRoutes(server, controls)

  server.addHook('preClose', async () => {
    held.release()
  })
  server.onClose(() => database.close())
  server.onClose(() => deliverer.stop())
  server.onClose(startTicking(sandbox))
  return server
}
