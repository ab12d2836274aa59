import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { isatty } from 'node:tty'
import type { TracingSettings } from '../tracing/otlp.ts'
import type { Settings } from './settings.ts'

export type ServiceSettings = {
  host: string
  port: number
  portSetting: string
  publicUrl: string
  dataFolder: string
  production: boolean
  logLevel: string
  trustedProxies: string[]
  corsOrigins: string[]
  allowedHosts: string[]
  maxConnections: number
  maxConnectionsPerAddress: number
  drainSeconds: number
  tracing: TracingSettings | undefined
}

const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const

/** The settings every service has, under its own prefix. */
export function serviceSettings(
  settings: Settings,
  prefix: string,
  defaults: { port: number },
): ServiceSettings {
  const portSetting = `${prefix}PORT`
  const port = settings.integer(portSetting, defaults.port, { max: 65535 })
  const host = settings.text(`${prefix}HOST`, 'localhost')
  return {
    host,
    port,
    portSetting,
    publicUrl: publicUrl(settings, prefix, port),
    dataFolder: resolve(settings.text('SUITE_DATA', 'data')),
    production: settings.production,
    logLevel: logLevel(settings, prefix),
    trustedProxies: networkList(settings, `${prefix}TRUSTED_PROXIES`),
    corsOrigins: originList(settings, `${prefix}CORS_ORIGINS`),
    allowedHosts: allowedHosts(settings, `${prefix}ALLOWED_HOSTS`),
    maxConnections: settings.integer(`${prefix}MAX_CONNECTIONS`, 5_000, { min: 1 }),
    maxConnectionsPerAddress: settings.integer(`${prefix}MAX_CONNECTIONS_PER_ADDRESS`, 1_000, {
      min: 1,
    }),
    tracing: tracingSettings(settings),
    // On a terminal there is no load balancer that must notice the shutdown first.
    drainSeconds: settings.integer(`${prefix}DRAIN_SECONDS`, isatty(1) ? 0 : 5, { max: 600 }),
  }
}

/** The URL at which others reach a service. */
export function publicUrl(settings: Settings, prefix: string, defaultPort: number): string {
  const host = settings.text(`${prefix}HOST`, 'localhost')
  const port = settings.integer(`${prefix}PORT`, defaultPort, { max: 65535 })
  return settings.url(`${prefix}PUBLIC_URL`, namedHostUrl(host, port))
}

/** A service's own LOG_LEVEL overrides the common one. */
export function logLevel(settings: Settings, prefix: string): string {
  const common = settings.choice('LOG_LEVEL', LOG_LEVELS, 'info')
  return settings.choice(`${prefix}LOG_LEVEL`, LOG_LEVELS, common)
}

/** Whether to ask for a recent sign-in where an account, a key or a role can be won: one setting for all services. */
export function reauthenticate(settings: Settings): boolean {
  return settings.flag('SUITE_REAUTHENTICATE', false)
}

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

/** Reads the standard OpenTelemetry variables; tracing is off without an endpoint. */
function tracingSettings(settings: Settings): TracingSettings | undefined {
  const off = settings.flag('OTEL_SDK_DISABLED', false)
  if (settings.optional('OTEL_EXPORTER_OTLP_ENDPOINT') === undefined || off) return undefined
  const protocol = settings.text('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json')
  if (protocol !== 'http/json')
    settings.fault(
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      'Expected http/json: others are not supported.',
      'http/json',
    )
  return {
    endpoint: `${settings.url('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://localhost:4318')}/v1/traces`,
    headers: Object.fromEntries(pairs(settings, 'OTEL_EXPORTER_OTLP_HEADERS')),
    timeoutMs: settings.integer('OTEL_EXPORTER_OTLP_TIMEOUT', 10_000, { min: 1, max: 600_000 }),
    ...sampling(settings),
    serviceName: settings.optional('OTEL_SERVICE_NAME'),
    attributes: Object.fromEntries(pairs(settings, 'OTEL_RESOURCE_ATTRIBUTES')),
  }
}

/** `key=value,key=value`, with percent-encoded values. */
function pairs(settings: Settings, name: string): [string, string][] {
  return settings.list(name, []).flatMap((pair): [string, string][] => {
    const [key = '', ...value] = pair.split('=')
    try {
      if (key.trim() !== '' && value.length > 0)
        return [[key.trim(), decodeURIComponent(value.join('=').trim())]]
    } catch {
      // Reported below.
    }
    settings.fault(name, 'Expected pairs of name and value.', 'name=value,other=value')
    return []
  })
}

function sampling(settings: Settings): { ratio: number; followsParent: boolean } {
  const sampler = settings.choice('OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on')
  const given = settings.text('OTEL_TRACES_SAMPLER_ARG', '1')
  const value = Number(given)
  if (!(value >= 0 && value <= 1))
    settings.fault('OTEL_TRACES_SAMPLER_ARG', 'Expected a number from 0 to 1.', '0.1')
  const followsParent = sampler.startsWith('parentbased_')
  if (sampler.endsWith('always_off')) return { ratio: 0, followsParent }
  return { ratio: sampler.endsWith('traceidratio') ? value : 1, followsParent }
}

const NAMED_NETWORKS = ['loopback', 'linklocal', 'uniquelocal']

export function networkList(settings: Settings, name: string): string[] {
  const networks = settings.list(name, [])
  if (!networks.every((network) => NAMED_NETWORKS.includes(network) || isNetwork(network)))
    settings.fault(name, 'Expected addresses or networks.', '10.0.0.0/8,127.0.0.1')
  return networks
}

function isNetwork(text: string): boolean {
  const [address = '', length = '1', ...rest] = text.split('/')
  const longest = isIP(address) === 6 ? 128 : 32
  const fits = /^\d{1,3}$/.test(length) && Number(length) >= 1 && Number(length) <= longest
  return isIP(address) !== 0 && fits && rest.length === 0
}

export function originList(settings: Settings, name: string): string[] {
  const origins = settings.list(name, [])
  if (!origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin))
    settings.fault(
      name,
      'Expected origins: scheme, host and port, nothing after them.',
      'https://app.example',
    )
  return origins
}

function allowedHosts(settings: Settings, name: string): string[] {
  const hosts = settings.list(name, [])
  if (!hosts.every((host) => URL.canParse(`http://${host}`) && !/[/:@?#]/.test(host)))
    settings.fault(name, 'Expected host names without scheme and port.', 'app.example')
  return hosts
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
  if (!/^(sqlite:.|postgres(ql)?:\/\/.)/.test(url) || !URL.canParse(url))
    settings.fault(
      setting,
      'Expected sqlite:<file> or postgres://….',
      `sqlite:${dataFolder}/${name}.db`,
    )
  return url
}

/** Four nodes of three services stay below the 100 connections that PostgreSQL allows by default. */
const CONNECTIONS = 8

/** How a service uses its database; all but `setting` are about PostgreSQL, and SQLite ignores them. */
export function databaseOptions(settings: Settings, prefix: string) {
  return {
    setting: `${prefix}DATABASE_URL`,
    poolSize: settings.integer(`${prefix}DATABASE_CONNECTIONS`, CONNECTIONS, { min: 1, max: 1000 }),
    /** Turn off where the tables are too large to copy before each update. */
    migrationCopy: settings.flag(`${prefix}DATABASE_MIGRATION_COPY`, true),
  }
}

/**
 * The service key for asking the issuer in `setting` whether a token is still in force. Required in
 * production: otherwise a disabled user would keep their privileges until the token expires.
 */
export function issuerKey(settings: Settings, setting: string): string | undefined {
  const name = `${setting}_KEY`
  const key = settings.optional(name)
  if (key === undefined && settings.production && settings.optional(setting) !== undefined)
    settings.fault(
      name,
      'Expected a service key of the issuer with the scope tokens:introspect.',
      'plk_live_…',
    )
  return key
}

const EVERY_ADDRESS = new Set(['0.0.0.0', '::'])

const LOOPBACK = new Set(['127.0.0.1', '::1'])

/** The URL at which this machine reaches a server that listens on `host`. */
export function hostUrl(host: string, port: number): string {
  const name = EVERY_ADDRESS.has(host) ? 'localhost' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** The default public URL: `localhost` for an address that only this machine can reach. */
function namedHostUrl(host: string, port: number): string {
  const url = hostUrl(host, port)
  // An address with a zone, such as fe80::1%eth0, is not valid in a URL.
  return LOOPBACK.has(host) || !URL.canParse(url) ? hostUrl('localhost', port) : url
}
