import { type Env, hostUrl, readSettings, type Settings, serviceSettings } from '@plinth/kit'

export type SuiteConfig = ReturnType<typeof loadConfig>

export function loadConfig(env: Env = process.env) {
  return readSettings(env, (settings) => ({
    ...serviceSettings(settings, 'SUITE_', { port: 8080 }),
    production: settings.production,
    sandbox: settings.convenience('SUITE_SANDBOX', {
      host: settings.text('SANDBOX_HOST', 'localhost'),
    }),
    // Payments and the sandbox get each other's address before either of them starts.
    paymentsUrl: addressOf(settings, 'PAYMENTS_', 8084),
    sandboxUrl: addressOf(settings, 'SANDBOX_', 8085),
  }))
}

function addressOf(settings: Settings, prefix: string, port: number): string {
  const host = settings.text(`${prefix}HOST`, 'localhost')
  return hostUrl(host, settings.integer(`${prefix}PORT`, port, { max: 65535 }))
}

/** How many processes of one service. Read alone: it must not depend on other settings. */
export function loadWorkerCount(env: Env = process.env): number {
  return readSettings(env, (settings) => settings.integer('WORKERS', 1, { min: 1, max: 64 }))
}
