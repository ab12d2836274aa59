import { join } from 'node:path'
import { eventSettings } from '@plinth/events'
import {
  DAY_SECONDS,
  databaseOptions,
  databaseUrl,
  type Env,
  isLoopback,
  issuerKey,
  originList,
  readSettings,
  reauthenticate,
  type Settings,
  serviceSettings,
} from '@plinth/kit/runtime'
import { providerSettings } from './provider/chosen.ts'

export type PaymentsConfig = ReturnType<typeof loadConfig>

export function loadConfig(env: Env = process.env) {
  return readSettings(env, (settings) => {
    const service = serviceSettings(settings, 'PAYMENTS_', { port: 8084 })
    const provider = providerSettings(settings)
    const access = accessSettings(settings, service)
    const pages = returnPages(settings, service.publicUrl)
    if (provider.liveMode) requireSafeLiveSettings(settings, { ...access, ...pages })
    return {
      ...service,
      ...provider,
      ...access,
      ...pages,
      databaseUrl: databaseUrl(settings, 'PAYMENTS_', service.dataFolder, 'payments'),
      database: databaseOptions(settings, 'PAYMENTS_'),
      operations: provider.sandboxUrl
        ? settings.convenience('PAYMENTS_OPERATIONS', service)
        : settings.flag('PAYMENTS_OPERATIONS', false),
      console: settings.convenience('PAYMENTS_CONSOLE', service),
      leaseSeconds: settings.integer('PAYMENTS_LEASE_SECONDS', 6, { min: 1, max: 600 }),
      events: eventSettings(settings),
      reauthenticate: reauthenticate(settings),
      masterKey: masterKey(settings, service),
      lockWaitMilliseconds: 10_000,
      lookEverySeconds: settings.integer('PAYMENTS_LOOK_EVERY_SECONDS', 5, {
        min: 1,
        max: DAY_SECONDS,
      }),
      // The provider redelivers for three days, and we retry a failed event for as long.
      eventRetentionDays: settings.integer('PAYMENTS_EVENT_RETENTION_DAYS', 30, {
        min: 7,
        max: 36_500,
      }),
      pollEverySeconds: settings.integer('PAYMENTS_POLL_EVERY_SECONDS', 60, {
        min: 1,
        max: DAY_SECONDS,
      }),
    }
  })
}

/** Seals the secrets of event endpoints. Nothing else needs it, so in production it may be absent. */
function masterKey(
  settings: Settings,
  service: { dataFolder: string; host: string },
): Buffer | undefined {
  const name = 'PAYMENTS_MASTER_KEY'
  if (settings.production && settings.optional(name) === undefined) return undefined
  return settings.key(name, join(service.dataFolder, 'payments-master.key'), service)
}

function returnPages(settings: Settings, publicUrl: string) {
  const pages = `${publicUrl}/api-test/index.html`
  return {
    successUrl: settings.address(
      'PROVIDER_SUCCESS_URL',
      `${pages}?checkout=success&payment={PAYMENT_ID}`,
    ),
    cancelUrl: settings.address(
      'PROVIDER_CANCEL_URL',
      `${pages}?checkout=cancelled&payment={PAYMENT_ID}`,
    ),
    /** Origins that a checkout's own return pages may have; in development also loopback. */
    returnOrigins: originList(settings, 'PAYMENTS_RETURN_ORIGINS'),
  }
}

const ACCESS = ['open', 'keys', 'issuer'] as const

export type Access = (typeof ACCESS)[number]

/** Who may call. In production, or when other machines can reach the service, it must be set explicitly. */
function accessSettings(settings: Settings, { host }: { host: string }) {
  const issuer = issuerSettings(settings)
  const fallback = settings.production ? 'keys' : 'open'
  const access = settings.choice('PAYMENTS_ACCESS', ACCESS, issuer ? 'issuer' : fallback)
  const named = settings.optional('PAYMENTS_ACCESS') !== undefined
  if ((settings.production || !isLoopback(host)) && !named && !issuer)
    settings.fault(
      'PAYMENTS_ACCESS',
      'Expected who may call: open (anyone who reaches the service), keys (service keys) or issuer (access tokens of PAYMENTS_REQUIRE_ISSUER).',
      'keys',
    )
  if (issuer && access !== 'issuer')
    settings.fault(
      'PAYMENTS_ACCESS',
      'Expected issuer, because PAYMENTS_REQUIRE_ISSUER is set.',
      'issuer',
    )
  if (access === 'issuer' && !issuer)
    settings.fault(
      'PAYMENTS_REQUIRE_ISSUER',
      'Expected the address of the identity service, because PAYMENTS_ACCESS is issuer.',
      'https://id.example',
    )
  return { access, issuer, production: settings.production }
}

function issuerSettings(settings: Settings) {
  const rules = {
    audience: settings.text('PAYMENTS_TOKEN_AUDIENCE', 'plinth'),
    plainJwt: settings.flag('PAYMENTS_REQUIRE_ISSUER_PLAIN_JWT', false),
    role: settings.text('PAYMENTS_ROLE', 'ROLE_ADMIN'),
    key: issuerKey(settings, 'PAYMENTS_REQUIRE_ISSUER'),
  }
  const name = 'PAYMENTS_REQUIRE_ISSUER'
  if (!settings.optional(name)) return undefined
  return { issuer: settings.trustedUrl(name, 'http://localhost:8081'), ...rules }
}

type Live = { access: Access; successUrl: string; cancelUrl: string }

/** A live key moves real money, so the settings around it must be safe. */
function requireSafeLiveSettings(
  settings: Settings,
  { access, successUrl, cancelUrl }: Live,
): void {
  if (access === 'open')
    settings.fault(
      'PAYMENTS_ACCESS',
      'Expected keys or issuer: with a live provider key anyone could start payments and refunds.',
      'keys',
    )
  const pages = { PROVIDER_SUCCESS_URL: successUrl, PROVIDER_CANCEL_URL: cancelUrl }
  for (const [name, url] of Object.entries(pages))
    if (isOnThisMachine(url))
      settings.fault(
        name,
        'Expected a page that customers can open: with a live provider key it cannot be on localhost.',
        'https://shop.example/thanks',
      )
}

function isOnThisMachine(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname)
}
