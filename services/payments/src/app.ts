import { consoleFolder } from '@plinth/console'
import {
  actuatorRoutes,
  type Clock,
  callerGuard,
  consoleRoutes,
  createLogger,
  createRemoteIssuer,
  createServer,
  openDatabase,
  type Server,
  systemClock,
} from '@plinth/kit'
import { checkoutRoutes } from './checkout/checkout.routes.ts'
import { customerRoutes } from './checkout/customers.routes.ts'
import type { PaymentsConfig } from './config.ts'
import { createSingleFlight, type PaymentGuard, type Payments } from './payment/context.ts'
import { migrations } from './payment/database/migrations/index.ts'
import type { PaymentTables } from './payment/database/tables.ts'
import { paymentOperationRoutes, paymentRoutes } from './payment/payments.routes.ts'
import { createStripeProvider } from './provider/stripe.ts'
import { type Jobs, recoverAtStart, startJobs, wakerOf } from './recovery/jobs.ts'
import { refundRoutes } from './refunds/refunds.routes.ts'
import { eventOperationRoutes, webhookRoutes } from './webhooks/webhooks.routes.ts'

export { loadConfig, type PaymentsConfig } from './config.ts'

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
  const server = createServer({ ...config, log, clock })
  server.onClose(database.close)

  const failed = (error: unknown) => log.error({ err: error }, 'reconciling payments failed')
  const wake = wakerOf(() => jobs.reconcile, failed)
  const provider = providerFor(config)
  const singleFlight = createSingleFlight()
  const payments: Payments = {
    ...config,
    db: database.db,
    clock,
    log,
    provider,
    wake,
    singleFlight,
  }
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
  if (config.operations) {
    paymentOperationRoutes(server, payments, guard)
    eventOperationRoutes(server, payments, guard)
  }
  actuatorRoutes(server, { name: NAME, version: VERSION, healthy: database.ping })
  if (config.console) paymentConsoleRoutes(server, config)
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

type Configured = { providerApiConfigured: boolean; webhookConfigured: boolean }

/** Tells whether the secrets are there and nothing about them. */
function configurationRoutes(server: Server, configured: Configured): void {
  server.get('/api/configuration', () => configured)
}

/** The console, and where it finds the page of the sandbox: a sandbox must never look real. */
function paymentConsoleRoutes(server: Server, { sandboxUrl }: PaymentsConfig): void {
  server.get('/api-test/provider.json', () => ({ sandboxUrl: sandboxUrl ?? null }))
  consoleRoutes(server, consoleFolder('payments'))
}

type IssuerSettings = { url: string; audience: string } | undefined

/** With an issuer configured, callers show its token, and only administrators give money back. */
function paymentGuard(issuer: IssuerSettings, clock: Clock): PaymentGuard {
  if (!issuer) return { caller: [], refunder: [] }
  const tokens = createRemoteIssuer({ issuer: issuer.url, audience: issuer.audience, clock })
  const guard = callerGuard((token) => tokens.verify(token))
  return { caller: [guard.caller], refunder: [guard.role('ROLE_ADMIN')] }
}
