import { consoleFolder } from '@plinth/console'
import { type Dispatcher, describeEvents, insertSample, mountEvents } from '@plinth/events'
import { openDatabase } from '@plinth/kit/database'
import {
  type ApiDescription,
  actuatorRoutes,
  consoleRoutes,
  createServer,
  indexRoute,
  openApiRoutes,
  recentSignIn,
  type Server,
} from '@plinth/kit/http'
import { createLogger } from '@plinth/kit/logging'
import { type Clock, readSettings, systemClock } from '@plinth/kit/runtime'
import {
  expiryFindings,
  serviceKeyGuard,
  serviceKeyRoutes,
  startKeyNotices,
} from '@plinth/service-keys'
import manifest from '../package.json' with { type: 'json' }
import { endpointGuards, paymentGuards } from './access/guards.ts'
import { issuerCallers } from './access/issuer.ts'
import { paymentKeys } from './access/keys.ts'
import { paymentsData } from './backup.ts'
import { checkoutRoutes } from './checkout/checkout.routes.ts'
import { customerOperationRoutes, customerRoutes } from './checkout/customers.routes.ts'
import { loadConfig, type PaymentsConfig } from './config.ts'
import { arrivalFindings, providerFindings, webhookFindings } from './doctor/checks.ts'
import { countPayments, measurePayments } from './measure.ts'
import { createSingleFlight, type Payments } from './payment/context.ts'
import { migrations } from './payment/database/migrations/index.ts'
import { insertAuditEvent } from './payment/database/observations.repository.ts'
import type { PaymentTables } from './payment/database/tables.ts'
import { PAYMENT_EVENTS, SOURCE } from './payment/events.ts'
import {
  configurationRoute,
  paymentOperationRoutes,
  paymentRoutes,
  recordDenials,
} from './payment/reads/payments.routes.ts'
import { openProvider, providerSettings } from './provider/chosen.ts'
import { measureProvider } from './provider/measure.ts'
import type { PaymentProvider } from './provider/provider.ts'
import { checkRoutes } from './recovery/checks.routes.ts'
import { type Jobs, startJobs } from './recovery/jobs.ts'
import { recoverAtStart } from './recovery/recover.ts'
import { refundRoutes } from './refunds/refunds.routes.ts'
import { eventOperationRoutes, webhookRoutes } from './webhooks/webhooks.routes.ts'

export { loadConfig, type PaymentsConfig } from './config.ts'

const NAME = 'payments'
const VERSION = manifest.apiVersion

const API: ApiDescription = {
  title: manifest.apiTitle,
  version: VERSION,
  description: `Hosted checkouts, payments and refunds through a payment provider. By default this service
does not identify callers: the application in front of it does.`,
  tags: {
    Checkout: 'One payable session for each payment.',
    Payments: 'What is known about each payment.',
    Refunds: 'Money back, once for each reference.',
    Customers: 'Customers live at the provider only.',
    Webhooks: 'Events that the provider delivers.',
    Events: 'What has happened, and the endpoints that are notified.',
    'Service keys':
      'Keys of the calling applications; for administrators and keys with keys:write.',
    Operations: 'Configuration, audit, health, and this document.',
  },
  webhooks: describeEvents(PAYMENT_EVENTS, SOURCE),
}

export async function createPayments(config: PaymentsConfig): Promise<Server> {
  return (await openPayments(config)).server
}

type Surroundings = { clock?: Clock; open?: (config: PaymentsConfig) => PaymentProvider }

/** Wires up the service and all its routes. Returns the jobs so that tests can run them. */
export async function openPayments(
  config: PaymentsConfig,
  { clock = systemClock, open = openProvider }: Surroundings = {},
): Promise<{ server: Server; jobs: Jobs; payments: Payments; dispatcher: Dispatcher }> {
  const log = createLogger(NAME, config.logLevel)
  const { databaseUrl, database: options } = config
  const database = await openDatabase<PaymentTables>(databaseUrl, migrations, { ...options, log })
  const { db, ping, measure, close } = database
  const server = createServer({ ...config, log, clock })
  server.onClose(close)
  measure(server.metrics)
  const provider = measureProvider(open(config), server.metrics)
  const own = { singleFlight: createSingleFlight(), countStatus: countPayments(server.metrics) }
  const payments: Payments = { ...config, ...own, db, clock, log, provider }
  const jobs = startJobs(payments, config, server.metrics)
  server.onClose(jobs.stop)
  const inbox = { ...payments, wake: jobs.wake }
  const onceCaughtUp = await recoverAtStart(server, payments, jobs)

  measurePayments(server, payments, config.dataFolder)
  const keys = paymentKeys(db, config, clock)
  const keyGuard = serviceKeyGuard(keys, { allowedOrigins: config.corsOrigins })
  const users = config.issuer && issuerCallers(server, payments, { ...config, ...config.issuer })
  const guard = recordDenials(payments, paymentGuards(config, keyGuard, users))
  const recent = recentSignIn({ ...config, clock })
  configurationRoute(server, config)
  customerRoutes(server, payments, guard)
  checkoutRoutes(server, payments, guard)
  paymentRoutes(server, payments, guard)
  refundRoutes(server, payments, guard)
  webhookRoutes(server, inbox)
  if (config.operations) {
    paymentOperationRoutes(server, payments, guard)
    eventOperationRoutes(server, inbox, guard)
    customerOperationRoutes(server, payments, guard)
    checkRoutes(server, payments, guard)
  }
  const dispatcher = mountEvents(server, {
    ...config,
    db,
    source: SOURCE,
    settings: config.events,
    catalogue: PAYMENT_EVENTS,
    guards: endpointGuards(config, keyGuard, { admin: guard.admin, recent }),
    record: (to, { origin, ...event }) =>
      insertAuditEvent(to, { at: clock().toISOString(), ...event, ...origin }),
  })
  serviceKeyRoutes(server, keys, guard.keys, recent)
  server.onClose(startKeyNotices(keys, server).stop)
  actuatorRoutes(server, { name: NAME, version: VERSION, healthy: onceCaughtUp(ping) })
  if (config.console) paymentConsoleRoutes(server, config)
  indexRoute(server, { name: NAME, version: VERSION })
  openApiRoutes(server, API, consoleFolder('reference'))
  return { server, jobs, payments, dispatcher }
}

/** The console, and the sandbox's address for it to show: a sandbox must never look real. */
function paymentConsoleRoutes(server: Server, config: PaymentsConfig): void {
  const { sandboxUrl, access, issuer } = config
  server.tellPages(() => ({ access, issuer: issuer?.issuer }))
  server.get('/api-test/provider.json', { schema: { hide: true } }, () => ({
    sandboxUrl: sandboxUrl ?? null,
  }))
  consoleRoutes(server, consoleFolder('payments'), undefined, { signsInAt: issuer?.issuer })
}

/** For the command line: opens the service's database, whether or not the service is running. */
export async function openForOperator(config: PaymentsConfig) {
  const { databaseUrl, database } = config
  const { db, close } = await openDatabase<PaymentTables>(databaseUrl, migrations, database)
  const publishSample = (type: string) =>
    insertSample(db, PAYMENT_EVENTS, { source: SOURCE, type, at: systemClock() })
  return { keys: paymentKeys(db, config, systemClock), publishSample, close }
}

/** For the launcher and the command line: what they do with any service, as this one does it. */
export const description = {
  loadConfig,
  create: createPayments,
  data: paymentsData,
  openForOperator,
  conveniences: () => ({ named: [] }),
  trustedIssuer: ({ issuer }: PaymentsConfig) =>
    issuer && { issuer: issuer.issuer, setting: 'PAYMENTS_REQUIRE_ISSUER', signsIn: true },
  cutOff: (config: PaymentsConfig): PaymentsConfig => ({
    ...config,
    // As if none of them were set: only the provider knows which of them reach it.
    ...readSettings({}, providerSettings),
    issuer: undefined,
    access: 'keys',
    events: { ...config.events, delivers: false },
  }),
  checks: { provider: providerFindings, webhook: webhookFindings },
  dataChecks: { 'service keys': expiryFindings, webhooks: arrivalFindings },
}
