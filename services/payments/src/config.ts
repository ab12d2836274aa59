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
      successUrl: settings.address('PROVIDER_SUCCESS_URL', `${pages}?checkout=success`),
      cancelUrl: settings.address('PROVIDER_CANCEL_URL', `${pages}?checkout=cancelled`),
      issuer: issuerSettings(settings),
      operations: provider.sandboxUrl
        ? settings.convenience('PAYMENTS_OPERATIONS', service)
        : settings.flag('PAYMENTS_OPERATIONS', false),
      console: settings.convenience('PAYMENTS_CONSOLE', service),
      leaseSeconds: settings.integer('PAYMENTS_LEASE_SECONDS', 6, { min: 1, max: 600 }),
      lockWaitMilliseconds: 10 * SECOND,
      reconcileEverySeconds: settings.integer('PAYMENTS_LOOK_EVERY_SECONDS', 5, { min: 1 }),
      pollEverySeconds: settings.integer('PAYMENTS_POLL_EVERY_SECONDS', 60, { min: 1 }),
    }
  })
}

function providerSettings(settings: Settings) {
  const named = settings.optional('PROVIDER_API_BASE')
  const apiBase = named && settings.trustedUrl('PROVIDER_API_BASE', 'https://api.stripe.com')
  const secretKey = settings.optional('PROVIDER_SECRET_KEY')
  const secrets = ['PROVIDER_WEBHOOK_SECRET', 'PROVIDER_WEBHOOK_SECRET_PREVIOUS'].map((name) =>
    settings.secret(name, { fewest: 16 }),
  )
  return {
    secretKey,
    apiBase,
    // Without the current secret the webhook is off, whatever the previous one was.
    webhookSecrets: secrets[0] ? secrets.flatMap((secret) => secret ?? []) : [],
    sandboxUrl: apiBase && sandboxUrl(settings, apiBase, secretKey),
    providerCallMilliseconds: settings.integer('PROVIDER_TIMEOUT_MILLISECONDS', 10 * SECOND, {
      min: 1,
    }),
    providerRetries: 2,
    providerDeadlineMilliseconds: 25 * SECOND,
  }
}

/** Where a browser finds the stand-in for the provider, if that is what is behind the service. */
function sandboxUrl(settings: Settings, apiBase: string, secretKey = ''): string | undefined {
  return /_live_/.test(secretKey) ? undefined : settings.url('SANDBOX_PUBLIC_URL', apiBase)
}

function issuerSettings(settings: Settings) {
  if (!settings.optional('PAYMENTS_REQUIRE_ISSUER')) return undefined
  return {
    issuer: settings.trustedUrl('PAYMENTS_REQUIRE_ISSUER', 'http://localhost:8081'),
    audience: settings.text('PAYMENTS_TOKEN_AUDIENCE', 'plinth'),
    plainJwt: settings.flag('PAYMENTS_REQUIRE_ISSUER_PLAIN_JWT', false),
  }
}
