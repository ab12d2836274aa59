import { isLoopback, type Settings } from '@plinth/kit/runtime'
import type { ProviderSettings } from '../provider.ts'

const NAMES = { secretKey: 'PROVIDER_SECRET_KEY', webhookSecret: 'PROVIDER_WEBHOOK_SECRET' }

export type StripeSettings = ReturnType<typeof stripeSettings>

export function stripeSettings(settings: Settings) {
  const named = settings.optional('PROVIDER_API_BASE')
  const apiBase = named && settings.trustedUrl('PROVIDER_API_BASE', 'https://api.stripe.com')
  const secretKey = settings.optional(NAMES.secretKey)
  const secrets = [NAMES.webhookSecret, 'PROVIDER_WEBHOOK_SECRET_PREVIOUS'].map((name) =>
    settings.secret(name, { fewest: 16 }),
  )
  const liveMode = liveModeOf(secretKey)
  if (apiBase && liveMode) requireEncryption(settings, apiBase)
  const common: ProviderSettings = {
    settingNames: NAMES,
    secretKey,
    // Without a current secret the webhook is off, even if a previous one is set.
    webhookSecrets: secrets[0] ? secrets.flatMap((secret) => secret ?? []) : [],
    sandboxUrl: apiBase && !liveMode ? sandboxUrl(settings, apiBase) : undefined,
    liveMode,
  }
  return {
    ...common,
    apiBase,
    /** For one operation: all its calls, with their retries. */
    providerMilliseconds: settings.integer('PROVIDER_TIMEOUT_MILLISECONDS', 10_000, {
      min: 1,
      max: 600_000,
    }),
    providerRetries: 2,
  }
}

function liveModeOf(secretKey = ''): boolean | undefined {
  if (/_live_/.test(secretKey)) return true
  return /^[sr]k_test_/.test(secretKey) ? false : undefined
}

/**
 * Where a browser finds the sandbox; undefined when the address is that of Stripe itself. Below the address of the suite,
 * production serves only its pages for payers: the others are at its own address.
 */
function sandboxUrl(settings: Settings, apiBase: string): string | undefined {
  const isReal = /(^|\.)stripe\.com$/.test(new URL(apiBase).hostname)
  if (isReal) return undefined
  const url = settings.url('SANDBOX_PUBLIC_URL', apiBase)
  const suite = settings.optional('SUITE_PUBLIC_URL')?.replace(/\/*$/, '/')
  const isBelowSuite = suite !== undefined && url.startsWith(suite)
  return settings.production && isBelowSuite ? apiBase : url
}

function requireEncryption(settings: Settings, apiBase: string): void {
  const isFaulty = settings.faults.some(({ name }) => name === 'PROVIDER_API_BASE')
  if (isFaulty || !apiBase.startsWith('http:') || isLoopback(new URL(apiBase).hostname)) return
  settings.fault(
    'PROVIDER_API_BASE',
    'Expected https: a live provider key is sent there.',
    'https://api.stripe.com',
  )
}
