import { join, resolve } from 'node:path'
import {
  type Env,
  hostUrl,
  isLoopback,
  logLevel,
  readSettings,
  type Settings,
  serviceSettings,
} from '@plinth/kit/runtime'
import { identity, payments, prefixOf, type ServiceEntry, sandbox, services } from './services.ts'

export type SuiteConfig = ReturnType<typeof loadConfig>

export function loadConfig(env: Env = process.env) {
  return readSettings(env, (settings) => ({
    ...suiteSettings(settings),
    production: settings.production,
    sandbox: settings.convenience('SUITE_SANDBOX', {
      host: settings.text('SANDBOX_HOST', 'localhost'),
    }),
    identityUrl: addressOf(settings, identity),
    // Payments and the sandbox need each other's address before either of them starts.
    paymentsUrl: addressOf(settings, payments),
    sandboxUrl: addressOf(settings, sandbox),
  }))
}

function suiteSettings(settings: Settings) {
  return {
    ...serviceSettings(settings, 'SUITE_', { port: 8080 }),
    hasPublicUrl: settings.optional('SUITE_PUBLIC_URL') !== undefined,
  }
}

/** Where a service is on this machine. */
export function addressOf(settings: Settings, entry: ServiceEntry): string {
  const host = settings.text(`${prefixOf(entry)}HOST`, 'localhost')
  return hostUrl(host, settings.integer(entry.portSetting, entry.port, { max: 65535 }))
}

/**
 * The services are also reachable at the address of the suite. So when SUITE_HOST is not loopback, each service
 * without a host of its own takes it over, and applies the same safety checks to its settings. In production a service
 * that is public only in part stays on this machine.
 */
export function withSuiteHost(env: Env): Env {
  const { host, production } = readSettings(env, (settings) => ({
    host: settings.optional('SUITE_HOST'),
    production: settings.production,
  }))
  if (!host || isLoopback(host)) return env
  return inherited(env, ({ publicPaths }) => ({
    HOST: production && publicPaths ? undefined : host,
  }))
}

/**
 * Services inherit their public address from the suite, if it has one, and also its trusted proxies, allowed hosts
 * and drain time, whether they run together or alone. Reads no settings of other services.
 */
export function withSuiteAddress(env: Env): Env {
  const suite = readSettings(env, suiteSettings)
  return inherited(env, ({ path }) => ({
    PUBLIC_URL: suite.hasPublicUrl ? suite.publicUrl + path : undefined,
    TRUSTED_PROXIES: suite.trustedProxies.join(','),
    ALLOWED_HOSTS: suite.allowedHosts.join(','),
    DRAIN_SECONDS: String(suite.drainSeconds),
  }))
}

/** Sets each setting in `suite` for every service that does not set it. */
function inherited(
  env: Env,
  suite: (entry: ServiceEntry) => Record<string, string | undefined>,
): Env {
  const settings = services.flatMap((entry) =>
    Object.entries(suite(entry)).map(([name, value]) => [`${prefixOf(entry)}${name}`, value]),
  )
  const missing = settings.filter(([name, value]) => value && name && !isSet(env, name))
  return { ...env, ...Object.fromEntries(missing) }
}

export function isSet(env: Env, name: string): boolean {
  return Boolean(env[name]?.trim() || env[`${name}_FILE`])
}

export type ManagementConfig = NonNullable<ReturnType<typeof loadManagement>>

/** The management listener; undefined if no port is set. */
export function loadManagement(env: Env = process.env) {
  return readSettings(env, (settings) => {
    if (settings.optional('SUITE_MANAGEMENT_PORT') === undefined) return undefined
    const host = settings.text('SUITE_MANAGEMENT_HOST', '127.0.0.1')
    const port = settings.integer('SUITE_MANAGEMENT_PORT', 9464, { max: 65535 })
    const token = settings.secret('METRICS_TOKEN', { fewest: MIN_TOKEN })
    if (!isLoopback(host) && token === undefined)
      settings.fault(
        'METRICS_TOKEN',
        'Expected a secret: SUITE_MANAGEMENT_HOST is not loopback.',
        '$(openssl rand -base64 24)',
      )
    const portSetting = 'SUITE_MANAGEMENT_PORT'
    const level = logLevel(settings, 'SUITE_')
    return { host, port, portSetting, token, logLevel: level, backups: backupSettings(settings) }
  })
}

const MIN_TOKEN = 20

/** The number of processes of one service. Read separately, so that it does not depend on other settings. */
export function loadWorkerCount(env: Env = process.env): number {
  return readSettings(env, (settings) => settings.integer('WORKERS', 1, { min: 1, max: 64 }))
}

export type BackupConfig = ReturnType<typeof loadBackups>

/** Where backups are stored, how many are kept, and when the suite makes one. */
export function loadBackups(env: Env = process.env) {
  return readSettings(env, backupSettings)
}

function backupSettings(settings: Settings) {
  const dataFolder = resolve(settings.text('SUITE_DATA', 'data'))
  const at = settings.optional('BACKUP_AT')
  if (at !== undefined && !TIME_OF_DAY.test(at))
    settings.fault('BACKUP_AT', 'Expected a time of day in UTC.', '02:00')
  const pingUrl = settings.optional('BACKUP_PING_URL')
  if (pingUrl !== undefined && !isPingUrl(pingUrl))
    settings.fault(
      'BACKUP_PING_URL',
      'Expected an address without user and password.',
      'https://hc-ping.example/1f0c…',
    )
  const passphrase = settings.optional('BACKUP_PASSPHRASE')
  if (passphrase !== undefined && passphrase.length < MIN_PASSPHRASE)
    settings.fault(
      'BACKUP_PASSPHRASE',
      'Expected 20 characters or more.',
      '$(openssl rand -base64 32)',
    )
  return {
    dataFolder,
    at,
    pingUrl,
    passphrase,
    bucket: bucketSettings(settings, passphrase !== undefined),
    verify: settings.flag('BACKUP_VERIFY', true),
    folder: resolve(settings.text('BACKUP_DIR', join(dataFolder, 'backups'))),
    keep: settings.integer('BACKUP_KEEP', 14, { min: 1 }),
    weeks: settings.integer('BACKUP_KEEP_WEEKS', 0, { max: 520 }),
    record: join(dataFolder, 'last-backup.json'),
  }
}

/** Before the name of an archive in the bucket. */
export const IN_BUCKET = 'bucket:'

export type BucketConfig = NonNullable<ReturnType<typeof bucketSettings>>

/** The bucket that archives are copied to; undefined without BACKUP_BUCKET. */
function bucketSettings(settings: Settings, isEncrypted: boolean) {
  const bucket = settings.optional('BACKUP_BUCKET')
  if (bucket === undefined) return undefined
  const required = (name: string, example: string) => {
    const value = settings.optional(name)
    if (value === undefined)
      settings.fault(name, 'Expected a value: BACKUP_BUCKET is set.', example)
    return value ?? ''
  }
  if (!isEncrypted)
    settings.fault(
      'BACKUP_PASSPHRASE',
      'Expected 20 characters or more: what leaves this machine for BACKUP_BUCKET must be encrypted.',
      '$(openssl rand -base64 32)',
    )
  const endpoint = required('BACKUP_BUCKET_ENDPOINT', 'https://s3.example')
  if (endpoint !== '' && !isPingUrl(endpoint))
    settings.fault(
      'BACKUP_BUCKET_ENDPOINT',
      'Expected an address without user and password.',
      'https://s3.example',
    )
  return {
    bucket,
    endpoint,
    prefix: settings.text('BACKUP_BUCKET_PREFIX', 'plinth').replace(/^\/+|\/+$/g, ''),
    region: settings.text('BACKUP_BUCKET_REGION', 'us-east-1'),
    accessKey: required('BACKUP_BUCKET_ACCESS_KEY', 'the id of an access key'),
    secretKey: required('BACKUP_BUCKET_SECRET_KEY', 'its secret'),
    pathStyleAccess: settings.flag('BACKUP_BUCKET_PATH_STYLE', true),
  }
}

/** With a user in it, fetch would refuse every ping. */
function isPingUrl(text: string): boolean {
  const url = URL.parse(text)
  return /^https?:$/.test(url?.protocol ?? '') && `${url?.username}${url?.password}` === ''
}

const MIN_PASSPHRASE = 20
const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d$/
