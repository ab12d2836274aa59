import { join } from 'node:path'
import type { Db } from '@plinth/kit/database'
import { type Guard, Type, timestamp } from '@plinth/kit/http'
import type { DefinedProblem, Problem } from '@plinth/kit/problems'
import { type Clock, isLoopback, type Settings } from '@plinth/kit/runtime'
import {
  type AccessTokenSigner,
  type AccessTokenVerifier,
  createAccessTokenSigner,
  createAccessTokenVerifier,
  openSigningKeys,
  type SigningKeys,
} from '@plinth/kit/tokens'
import type { Origin } from './database/audit.repository.ts'
import type { AccountTables } from './database/tables.ts'
import type { HashedRegistration, User } from './database/users.repository.ts'
import {
  type Blocklist,
  createPasswords,
  openBlocklist,
  type PasswordOptions,
  type Passwords,
} from './passwords/passwords.ts'
import { blocklistFile, hashingSettings } from './passwords/settings.ts'

export type { Origin } from './database/audit.repository.ts'
export { ADMIN_ROLE } from './database/users.repository.ts'

/** What the account rules need; every rule takes it as its first argument. */
export type Accounts = {
  db: Db<AccountTables>
  clock: Clock
  settings: AccountSettings
  passwords: Passwords
  blockedPasswords: Blocklist
  signingKeys: SigningKeys
  accessTokens: AccessTokenSigner
  verifier: AccessTokenVerifier
  onEvent?: SecurityListener
  gate?: Gate
  turnAway?: TurnAway
  /** Whether the host reserves the address for another user. */
  isHeld?(db: Db<AccountTables>, user: Pick<User, 'id' | 'email'>, now: Date): Promise<boolean>
  /** Holds registrations until their address is confirmed, on hosts that offer it. */
  confirmation?: { isOn: boolean; problems: DefinedProblem[]; hold: Hold }
  close(): Promise<void>
}

export type SecurityEvent = {
  event: string
  /** Who did it, if known. */
  actor?: string
  /** The user or thing it was done to. */
  subject?: string
  /** THROTTLED means refused, and that further events of the same kind are not recorded for a while. */
  result?: 'SUCCESS' | 'REFUSED' | 'THROTTLED' | 'UNCHANGED'
  /** The owner of the account. */
  userId?: number
  /** Why an administrator did it. */
  reason?: string | undefined
}

/** A host's hook that runs in the transaction of the security events it lists. */
export type SecurityListener = {
  events: ReadonlySet<string>
  run(
    db: Db<AccountTables>,
    event: Required<Pick<SecurityEvent, 'result'>> & SecurityEvent,
    origin: Origin,
  ): Promise<void>
}

/** Further proof that a host requires before a session opens, beyond what the user has already proved. */
export type Gate = {
  /** Applies to every user; otherwise only to users with a second factor. */
  always: boolean
  /** Runs in the transaction that would open the session; its writes are committed even when it refuses. */
  ask(
    db: Db<AccountTables>,
    user: User,
    amr: string[],
    origin: Origin,
  ): Promise<Problem | undefined>
  /** The problems it may refuse with. */
  problems: DefinedProblem[]
}

/**
 * What a check inside a transaction decided, with whatever else its caller needs: the transaction may be retried,
 * so a check returns all that it found instead of leaving it in variables.
 */
export type Admission = { isAdmitted: boolean }

export type Hold = (user: HashedRegistration, origin: Origin) => Promise<void>

export type Hooks = Pick<Accounts, 'onEvent' | 'gate' | 'turnAway' | 'isHeld' | 'confirmation'>

/** A host's check after a correct password and before a session opens; `run` throws to refuse. */
export type TurnAway = {
  problems: DefinedProblem[]
  /** `amr` lists how the user has authenticated. */
  run(accounts: Accounts, user: User, amr: string[], origin: Origin): Promise<void>
}

/** Opens the accounts of a database whose schema includes `accountMigrations`. */
export async function openAccounts(
  db: Db<AccountTables>,
  settings: AccountSettings,
  clock: Clock,
  hooks: Hooks = {},
): Promise<Accounts> {
  const { masterKey, issuer, audience, accessTokenLifetimeSeconds: lifetimeSeconds } = settings
  const keyOptions = { db, clock, masterKey, tokenLifetimeSeconds: lifetimeSeconds }
  const signingKeys = await openSigningKeys(keyOptions)
  const rules = { audience, clock }
  const passwords = createPasswords(settings.hashing)
  return {
    db,
    clock,
    settings,
    passwords,
    blockedPasswords: openBlocklist(settings.blocklistFile, settings),
    signingKeys,
    accessTokens: createAccessTokenSigner({ ...rules, issuer, lifetimeSeconds }, signingKeys),
    verifier: createAccessTokenVerifier(rules, signingKeys),
    ...hooks,
    close: () => passwords.close(),
  }
}

export type AccountGuard = {
  caller: Guard
  /** Admits users with the role and, where the host has service keys, keys with the scope. */
  role(name: string, scope?: string): Guard
}

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
      windowSeconds: settings.integer(named('FAILURE_WINDOW_SECONDS'), 3600, seconds),
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

/** Sessions as their user and administrators see them. */
export const SessionsReply = Type.Array(
  Type.Object(
    {
      id: Type.Integer(),
      createdAt: timestamp(),
      lastUsedAt: timestamp(),
      address: Type.String({ examples: ['192.0.2.7'] }),
      userAgent: Type.Union([Type.String(), Type.Null()]),
      current: Type.Boolean({ description: 'The session of the access token' }),
    },
    { title: 'Session', additionalProperties: false },
  ),
)
