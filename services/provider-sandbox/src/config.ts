import {
  databaseUrl,
  type Env,
  networkList,
  readSettings,
  type Settings,
  serviceSettings,
} from '@plinth/kit/runtime'

export type SandboxConfig = ReturnType<typeof loadConfig>

const YEAR_SECONDS = 31_536_000

export function loadConfig(env: Env = process.env) {
  return readSettings(env, (settings) => {
    const service = serviceSettings(settings, 'SANDBOX_', { port: 8085 })
    if (!settings.convenience('SANDBOX_ALLOW_PRODUCTION', service))
      settings.fault(
        'SANDBOX_ALLOW_PRODUCTION',
        'The sandbox moves no money and does not start in production unless you insist.',
        'true',
      )
    const database = databaseUrl(settings, 'SANDBOX_', service.dataFolder, 'sandbox')
    if (!database.startsWith('sqlite:'))
      settings.fault(
        'SANDBOX_DATABASE_URL',
        'Expected sqlite:<file>; the sandbox is one process.',
        'sqlite:data/sandbox.db',
      )
    const webhookUrl = settings.optional('SANDBOX_WEBHOOK_URL')
    const webhookSecret = settings.secret('SANDBOX_WEBHOOK_SECRET', { fewest: 16 })
    if (webhookUrl !== undefined && webhookSecret === undefined)
      settings.fault(
        'SANDBOX_WEBHOOK_SECRET',
        'Expected the secret of SANDBOX_WEBHOOK_URL.',
        'whsec_$(openssl rand -hex 16)',
      )
    return {
      ...service,
      ...accessSettings(settings),
      databaseUrl: database,
      webhook: webhookUrl ? { url: webhookUrl, secret: webhookSecret ?? '' } : undefined,
      bankDebitSeconds: settings.integer('SANDBOX_BANK_DEBIT_SECONDS', 30, { max: YEAR_SECONDS }),
      refundSeconds: settings.integer('SANDBOX_REFUND_SECONDS', 30, { max: YEAR_SECONDS }),
      retrySeconds: settings.integer('SANDBOX_RETRY_SECONDS', 5, { min: 1, max: YEAR_SECONDS }),
      deliveryTimeoutSeconds: settings.integer('SANDBOX_DELIVERY_TIMEOUT_SECONDS', 10, {
        min: 1,
        max: 600,
      }),
    }
  })
}

/** In production others may reach it, so each kind of caller needs a secret; payers need none. */
function accessSettings(settings: Settings) {
  const { production } = settings
  const secretKey = settings.secret('SANDBOX_SECRET_KEY', { fewest: 20 })
  if (production && secretKey === undefined)
    settings.fault(
      'SANDBOX_SECRET_KEY',
      'Expected the only key that the sandbox accepts, which is then the PROVIDER_SECRET_KEY of payments.',
      'sk_test_$(openssl rand -hex 16)',
    )
  return {
    production,
    seed: seedOf(settings),
    /** The only key that its API accepts; any if it is undefined. */
    secretKey,
    /** What the controls need; without it they are closed in production and open elsewhere. */
    controlToken: settings.secret('SANDBOX_CONTROL_TOKEN', { fewest: 20 }),
    /** Where webhook endpoints may be in production. */
    addresses: { production, allowCidrs: networkList(settings, 'WEBHOOK_ALLOW_CIDRS') },
  }
}

/** Who knows it can compute the ids of checkouts, which open their pages, and the secrets of endpoints. */
function seedOf(settings: Settings): string {
  if (!settings.production) return settings.text('SANDBOX_SEED', 'plinth')
  const seed = settings.secret('SANDBOX_SEED', { fewest: 20 })
  if (seed === undefined)
    settings.fault(
      'SANDBOX_SEED',
      'Expected a secret of at least 20 characters: ids are derived from it.',
      '$(openssl rand -hex 16)',
    )
  return seed ?? ''
}
