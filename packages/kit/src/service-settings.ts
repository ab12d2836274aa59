import { resolve } from 'node:path'
import type { Settings } from './settings.ts'

export type ServiceSettings = {
  host: string
  port: number
  publicUrl: string
  dataFolder: string
  logLevel: string
  trustedProxies: string[]
  corsOrigins: string[]
}

const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const

/** The settings every service has, under its own prefix. */
export function serviceSettings(
  settings: Settings,
  prefix: string,
  defaults: { port: number },
): ServiceSettings {
  const port = settings.integer(`${prefix}PORT`, defaults.port, { max: 65535 })
  const host = settings.text(`${prefix}HOST`, 'localhost')
  return {
    host,
    port,
    publicUrl: settings.url(`${prefix}PUBLIC_URL`, `http://localhost:${port}`),
    dataFolder: resolve(settings.text('SUITE_DATA', 'data')),
    logLevel: settings.choice('LOG_LEVEL', LOG_LEVELS, 'info'),
    trustedProxies: settings.list(`${prefix}TRUSTED_PROXIES`, []),
    corsOrigins: settings.list(`${prefix}CORS_ORIGINS`, []),
  }
}

/** `sqlite:<file>` or `postgres://…`; by default a SQLite file in the data folder. */
export function databaseUrl(
  settings: Settings,
  prefix: string,
  dataFolder: string,
  name: string,
): string {
  const setting = `${prefix}DATABASE_URL`
  const url = settings.text(setting, `sqlite:${dataFolder}/${name}.db`)
  if (!/^(sqlite:.|postgres(ql)?:\/\/.)/.test(url))
    settings.fault(
      setting,
      'Expected sqlite:<file> or postgres://….',
      `sqlite:${dataFolder}/${name}.db`,
    )
  return url
}
