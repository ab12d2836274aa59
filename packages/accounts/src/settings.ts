import { join } from 'node:path'
import { HOUR_SECONDS, isLoopback, type Settings } from '@plinth/kit/runtime'
import type { PasswordOptions } from './passwords/passwords.ts'
import { blocklistFile, hashingSettings } from './passwords/settings.ts'

export type AccountSettings = {
  /** The name of the service in its events; absent if it emits none. */
  source?: string
  masterKey: Buffer
  issuer: string
  audience: string
  accessTokenLifetimeSeconds: number
  refreshTokenLifetimeSeconds: number
  passwordMinLength: number
  blocklistFile: string | undefined
  /** Whether the most common passwords are refused. */
  refuseCommon: boolean
  /** Whether people may register themselves, and how many per hour from one network; 0 means no limit. */
  registration: { open: boolean; perHour: number }
  hashing: PasswordOptions
  demoAccounts: boolean
  /** Created at startup while there is no administrator. */
  firstAdmin: FirstAdmin | undefined
  /** Set when demo accounts left by an earlier start are refused: the setting that would allow them. */
  demoAccountsRefusedFor: string | undefined
  /** Whether a logout always ends the session of the access token, so that it needs no body. */
  logoutEndsCaller: boolean
  /** What reuse of a refresh token does to its session. */
  refreshReuse: 'reject' | 'revoke'
  /** How long a session lasts, however often it is refreshed. */
  sessionMaxDays: number
  failures: { limit: number; windowSeconds: number }
  /** Limits in the same window: from one network for any name, and for one name from any network. */
  failedLogins: { perNetwork: number; perAccount: number }
  auditDays: number
  keyRotationDays: number
}

export type FirstAdmin = {
  setting: string
  username: string
  email: string
  password: string
  /** In production a reset of the password must reach the administrator, and no other reader. */
  mustBeMailable: boolean
}

type Host = {
  name: string
  prefix: string
  /** The address it listens on. */
  host: string
  publicUrl: string
  dataFolder: string
  passwordMinLength: number
  registrations: readonly ('open' | 'confirm' | 'closed')[]
  logoutEndsCaller: boolean
}

/** The account settings of a service, under its own prefix. */
export function accountSettings(settings: Settings, host: Host): AccountSettings {
  const { prefix, dataFolder, passwordMinLength: min } = host
  const named = (name: string) => `${prefix}${name}`
  const common = settings.production ? 'refuse' : 'allow'
  const seconds = { min: 1, max: 31_536_000 }
  const days = { min: 1, max: 36_500 }
  const demoAccounts = settings.convenience(named('DEMO_ACCOUNTS'), host)
  const refused = !demoAccounts && (settings.production || !isLoopback(host.host))
  return {
    masterKey: settings.key(named('MASTER_KEY'), join(dataFolder, `${host.name}-master.key`), host),
    issuer: settings.url(named('TOKEN_ISSUER'), host.publicUrl),
    audience: settings.text(named('TOKEN_AUDIENCE'), 'plinth'),
    accessTokenLifetimeSeconds: 900,
    refreshTokenLifetimeSeconds: 1_209_600,
    passwordMinLength: settings.integer(named('PASSWORD_MIN_LENGTH'), min, { min, max: 128 }),
    blocklistFile: blocklistFile(settings, named('PASSWORD_BLOCKLIST')),
    refuseCommon:
      settings.choice(named('COMMON_PASSWORDS'), ['allow', 'refuse'], common) === 'refuse',
    registration: {
      open: settings.choice(named('REGISTRATION'), host.registrations, 'open') !== 'closed',
      perHour: settings.integer(named('REGISTRATIONS_PER_HOUR'), settings.production ? 100 : 0),
    },
    hashing: hashingSettings(settings, prefix),
    demoAccounts,
    firstAdmin: firstAdmin(settings, prefix),
    demoAccountsRefusedFor: refused ? named('DEMO_ACCOUNTS') : undefined,
    logoutEndsCaller: host.logoutEndsCaller,
    refreshReuse: settings.choice(named('REFRESH_REUSE'), ['reject', 'revoke'], 'reject'),
    sessionMaxDays: settings.integer(named('SESSION_MAX_DAYS'), 90, days),
    failures: {
      limit: settings.integer(named('FAILURE_LIMIT'), 100, { min: 1 }),
      windowSeconds: settings.integer(named('FAILURE_WINDOW_SECONDS'), HOUR_SECONDS, seconds),
    },
    failedLogins: {
      perNetwork: settings.integer(named('FAILURE_LIMIT_PER_NETWORK'), 1000, { min: 1 }),
      perAccount: settings.integer(named('FAILURE_LIMIT_PER_ACCOUNT'), 300, { min: 1 }),
    },
    auditDays: settings.integer(named('AUDIT_DAYS'), 365, days),
    keyRotationDays: settings.integer(named('KEY_ROTATION_DAYS'), 90, days),
  }
}

function firstAdmin(settings: Settings, prefix: string): FirstAdmin | undefined {
  const setting = `${prefix}ADMIN_USERNAME`
  const username = settings.optional(setting)
  const password = settings.raw(`${prefix}ADMIN_PASSWORD`)
  const { production } = settings
  const email = settings.text(`${prefix}ADMIN_EMAIL`, production ? '' : `${username}@localhost`)
  if (username === undefined) return undefined
  if (!password) settings.required(`${prefix}ADMIN_PASSWORD`, '$(openssl rand -base64 24)')
  return { setting, username, email, password: password ?? '', mustBeMailable: production }
}
