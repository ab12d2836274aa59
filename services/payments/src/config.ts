import { databaseUrl, type Env, readSettings, type Settings, serviceSettings } from '@plinth/kit'

export type PaymentsConfig = ReturnType<typeof loadConfig>

const SECOND = 1000

export function loadConfig(env: Env = process.env) {
  return readSettings(env, (settings) => {
    const service = serviceSettings(settings, 'PAYMENTS_', { port: 8084 })
    const provider = providerSettings(settings)
    const pages = `${service.publicUrl}/api-test/index.html`
    return {
      ...service,
      ...provider,
      databaseUrl: databaseUrl(settings, 'PAYMENTS_', service.dataFolder, 'payments'),
      successUrl: settings.url('PROVIDER_SUCCESS_URL', `${pages}?checkout=success`),
      cancelUrl: settings.url('PROVIDER_CANCEL_URL', `${pages}?checkout=cancelled`),
      issuer: issuerSettings(settings),
      operations: settings.flag('PAYMENTS_OPERATIONS', provider.sandbox && !settings.production),
      console: settings.convenience('PAYMENTS_CONSOLE'),
      sandboxControls: provider.sandbox && !settings.production,
      leaseSeconds: settings.integer('PAYMENTS_LEASE_SECONDS', 6, { min: 1, max: 600 }),
      patienceMilliseconds: 10 * SECOND,
      lookEverySeconds: settings.integer('PAYMENTS_LOOK_EVERY_SECONDS', 5, { min: 1 }),
      pollEverySeconds: settings.integer('PAYMENTS_POLL_EVERY_SECONDS', 60, { min: 1 }),
    }
  })
}

function providerSettings(settings: Settings) {
  const named = settings.optional('PROVIDER_API_BASE')
  const apiBase = named && settings.url('PROVIDER_API_BASE', 'https://api.stripe.com')
  const secretKey = settings.optional('PROVIDER_SECRET_KEY')
  const secrets = ['PROVIDER_WEBHOOK_SECRET', 'PROVIDER_WEBHOOK_SECRET_PREVIOUS'].map((name) =>
    settings.optional(name),
  )
  return {
    secretKey,
    apiBase,
    // Without the current secret the webhook is off, whatever the previous one was.
    webhookSecrets: secrets[0] ? secrets.flatMap((secret) => secret ?? []) : [],
    /** A stand-in for the provider, where no real money moves. */
    sandbox: apiBase !== undefined && !/_live_/.test(secretKey ?? ''),
    providerCallMilliseconds: settings.integer('PROVIDER_TIMEOUT_MILLISECONDS', 10 * SECOND, {
      min: 1,
    }),
    providerRetries: 2,
    providerDeadlineMilliseconds: 25 * SECOND,
  }
}

function issuerSettings(settings: Settings) {
  if (!settings.optional('PAYMENTS_REQUIRE_ISSUER')) return undefined
  return {
    url: settings.url('PAYMENTS_REQUIRE_ISSUER', 'http://localhost:8081'),
    audience: settings.text('PAYMENTS_TOKEN_AUDIENCE', 'plinth'),
  }
}
