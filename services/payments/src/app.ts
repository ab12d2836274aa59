import { consoleFolder } from '@plinth/console'
import {
  actuatorRoutes,
  type Clock,
  callerGuard,
  consoleRoutes,
  countReplies,
  createLogger,
  createRemoteIssuer,
  createServer,
  measureDisks,
  openDatabase,
  type Server,
  systemClock,
} from '@plinth/kit'
import { checkoutRoutes } from './checkout/checkout.routes.ts'
import { customerRoutes } from './checkout/customers.routes.ts'
import type { PaymentsConfig } from './config.ts'
import { createSingleFlight, type PaymentGuard, type Payments } from './payment/context.ts'
import { migrations } from './payment/database/migrations/index.ts'
import { countPaymentsToCheck } from './payment/database/payments.repository.ts'
import type { PaymentTables } from './payment/database/tables.ts'
import { paymentOperationRoutes, paymentRoutes } from './payment/payments.routes.ts'
import { measureProvider } from './provider/measure.ts'
import { createStripeProvider } from './provider/stripe.ts'
import { type Jobs, recoverAtStart, startJobs, wakerOf } from './recovery/jobs.ts'
import { refundRoutes } from './refunds/refunds.routes.ts'
import { countEventsToRetry } from './webhooks/events.repository.ts'
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

/** The wiring of the service, and every route it has; tests run the jobs themselves. */
export async function openPayments(
  config: PaymentsConfig,
  { clock = systemClock }: Surroundings = {},
): Promise<{ server: Server; jobs: Jobs; payments: Payments }> {
  const log = createLogger(NAME, config.logLevel)
  const { db, ping, measure, close } = await openDatabase<PaymentTables>(
    config.databaseUrl,
    migrations,
    {
      log,
    },
  )
  const server = createServer({ ...config, log, clock })
  server.onClose(close)
  measure(server.metrics)

  const failed = (error: unknown) => log.error({ err: error }, 'reconciling payments failed')
  const wake = wakerOf(() => jobs.reconcile, failed)
  const { secretKey } = config
  const stripe = secretKey ? createStripeProvider({ ...config, secretKey }) : undefined
  const provider = stripe && measureProvider(stripe, server.metrics)
  const singleFlight = createSingleFlight()
  const payments: Payments = { ...config, db, clock, log, provider, wake, singleFlight }
  const jobs = startJobs(payments, config, server.metrics)
  server.onClose(jobs.stop)
  await recoverAtStart(payments)

  measurePayments(server, payments, config)
  const guard = paymentGuard(config.issuer, clock)
  configurationRoute(server, config)
  customerRoutes(server, payments, guard)
  checkoutRoutes(server, payments, guard)
  paymentRoutes(server, payments, guard)
  refundRoutes(server, payments, guard)
  webhookRoutes(server, payments, config.webhookSecrets)
  if (config.operations) {
    paymentOperationRoutes(server, payments, guard)
    eventOperationRoutes(server, payments, guard)
  }
  actuatorRoutes(server, { name: NAME, version: VERSION, healthy: ping })
  if (config.console) paymentConsoleRoutes(server, config)
  return { server, jobs, payments }
}

/** What an operator wants to know of the payments. Called before the routes are added. */
function measurePayments(server: Server, { db }: Payments, { dataFolder }: PaymentsConfig): void {
  const { metrics } = server
  countReplies(
    server,
    { name: 'plinth_checkouts_total', help: 'Requests for a checkout by result.' },
    { 'POST /api/checkout/sessions': {} },
  )
  countReplies(
    server,
    { name: 'plinth_refunds_total', help: 'Requests for a refund by result.' },
    { 'POST /api/payments/:id/refund': {} },
  )
  countReplies(
    server,
    { name: 'plinth_webhooks_total', help: 'Deliveries of the provider by result.' },
    { 'POST /api/provider/webhook': {} },
  )
  metrics.gauge(
    { name: 'plinth_payments_unfinished', help: 'Payments the provider owes an answer about.' },
    () => countPaymentsToCheck(db),
  )
  metrics.gauge(
    { name: 'plinth_webhook_backlog', help: 'Events that could not be applied and are retried.' },
    () => countEventsToRetry(db),
  )
  measureDisks(metrics, { data: dataFolder })
}

/** Whether the secrets are there, and nothing about them. */
function configurationRoute(server: Server, { secretKey, webhookSecrets }: PaymentsConfig): void {
  const providerApiConfigured = secretKey !== undefined
  const webhookConfigured = webhookSecrets.length > 0
  server.get('/api/configuration', () => ({ providerApiConfigured, webhookConfigured }))
}

/** The console, and where it finds the page of the sandbox: a sandbox must never look real. */
function paymentConsoleRoutes(server: Server, { sandboxUrl }: PaymentsConfig): void {
  server.get('/api-test/provider.json', () => ({ sandboxUrl: sandboxUrl ?? null }))
  consoleRoutes(server, consoleFolder('payments'))
}

/** With an issuer configured, callers show its token, and only administrators refund. */
function paymentGuard(issuer: PaymentsConfig['issuer'], clock: Clock): PaymentGuard {
  if (!issuer) return { caller: [], refunder: [] }
  const tokens = createRemoteIssuer({ ...issuer, clock })
  const guard = callerGuard((token) => tokens.verify(token))
  return { caller: [guard.caller], refunder: [guard.role('ROLE_ADMIN')] }
}
