import {
  actuatorRoutes,
  type Clock,
  createLogger,
  createServer,
  openDatabase,
  type Server,
  systemClock,
} from '@plinth/kit'
import { checkoutRoutes } from './checkout.routes.ts'
import type { PaymentsConfig } from './config.ts'
import { configurationRoutes } from './configuration.routes.ts'
import { paymentConsoleRoutes } from './console.routes.ts'
import { customerRoutes } from './customers.routes.ts'
import { paymentGuard } from './guard.ts'
import { type Jobs, recoverAtStart, startJobs, wakerOf } from './jobs.ts'
import { migrations } from './migrations/index.ts'
import { operationRoutes } from './operations.routes.ts'
import { paymentRoutes } from './payments.routes.ts'
import type { Payments } from './payments.ts'
import { createSandboxLine } from './provider/sandbox-line.ts'
import { createStripeProvider } from './provider/stripe-provider.ts'
import { refundRoutes } from './refunds.routes.ts'
import { sandboxRoutes } from './sandbox.routes.ts'
import { createSingleFlight } from './single-flight.ts'
import type { PaymentTables } from './tables.ts'
import { webhookRoutes } from './webhooks.routes.ts'

const NAME = 'payments'
const VERSION = '1.0.0'

type Surroundings = { clock?: Clock }

export async function createPayments(
  config: PaymentsConfig,
  surroundings: Surroundings = {},
): Promise<Server> {
  const { server } = await openPayments(config, surroundings)
  return server
}

/** The wiring of the service, and every route it has; the jobs are for tests that cannot wait. */
export async function openPayments(
  config: PaymentsConfig,
  { clock = systemClock }: Surroundings = {},
): Promise<{ server: Server; jobs: Jobs; payments: Payments }> {
  const log = createLogger(NAME, config.logLevel)
  const database = await openDatabase<PaymentTables>(config.databaseUrl, migrations, { log })
  const server = createServer({ ...config, name: NAME, version: VERSION, log, clock })
  server.onClose(database.close)

  const failed = (error: unknown) => log.error({ err: error }, 'looking at payments failed')
  const wake = wakerOf(() => jobs.look, failed)
  const provider = providerFor(config)
  const sharing = createSingleFlight()
  const payments: Payments = { ...config, db: database.db, clock, log, provider, wake, sharing }
  const jobs = startJobs(payments, config)
  server.onClose(jobs.stop)
  await recoverAtStart(payments)

  const guard = paymentGuard(config.issuer, clock)
  configurationRoutes(server, {
    providerApiConfigured: provider !== undefined,
    webhookConfigured: config.webhookSecrets.length > 0,
  })
  customerRoutes(server, payments, guard)
  checkoutRoutes(server, payments, guard)
  paymentRoutes(server, payments, guard)
  refundRoutes(server, payments, guard)
  webhookRoutes(server, payments, config.webhookSecrets)
  if (config.operations) operationRoutes(server, payments, guard)
  actuatorRoutes(server, { name: NAME, version: VERSION, healthy: database.ping })
  if (config.console) paymentConsoleRoutes(server, config)
  if (config.console && config.sandboxControls) sandboxRoutes(server, sandboxLineFor(config), guard)
  return { server, jobs, payments }
}

function providerFor(config: PaymentsConfig) {
  const { secretKey, apiBase } = config
  if (!secretKey) return undefined
  return createStripeProvider({
    secretKey,
    apiBase,
    callMilliseconds: config.providerCallMilliseconds,
    retries: config.providerRetries,
    deadlineMilliseconds: config.providerDeadlineMilliseconds,
  })
}

function sandboxLineFor({ apiBase = '', providerDeadlineMilliseconds }: PaymentsConfig) {
  return createSandboxLine(apiBase, providerDeadlineMilliseconds)
}
