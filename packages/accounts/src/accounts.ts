import type { Db } from '@plinth/kit/database'
import type { Guard } from '@plinth/kit/http'
import type { Logger } from '@plinth/kit/logging'
import type { DefinedProblem, Problem } from '@plinth/kit/problems'
import type { Clock } from '@plinth/kit/runtime'
import {
  type AccessTokenSigner,
  type AccessTokenVerifier,
  createAccessTokenSigner,
  createAccessTokenVerifier,
  openSigningKeys,
  type SigningKeys,
} from '@plinth/kit/tokens'
import type { AuditEvent } from './audit-events.ts'
import type { Origin } from './database/audit.repository.ts'
import type { AccountTables } from './database/tables.ts'
import type { HashedRegistration, User } from './database/users.repository.ts'
import {
  type Blocklist,
  createPasswords,
  openBlocklist,
  type Passwords,
} from './passwords/passwords.ts'
import type { AccountSettings } from './settings.ts'

export type { Origin } from './database/audit.repository.ts'
export { ADMIN_ROLE } from './database/users.repository.ts'

/** What the account rules need; every rule takes it as its first argument. */
export type Accounts<T extends AccountTables = AccountTables> = {
  db: Db<T>
  clock: Clock
  log: Logger
  settings: AccountSettings
  passwords: Passwords
  blockedPasswords: Blocklist
  signingKeys: SigningKeys
  accessTokens: AccessTokenSigner
  verifier: AccessTokenVerifier
  /** As the settings say; on some hosts administrators may change it while the service runs. */
  registrationIsOpen: () => boolean
  onEvent?: SecurityListener
  gate?: Gate
  turnAway?: TurnAway
  /** Whether the host reserves the address for another user. */
  isHeld?(db: Db<AccountTables>, user: Pick<User, 'id' | 'email'>, now: Date): Promise<boolean>
  /** The names of clients, on hosts that have clients. */
  clientNames?(db: Db<AccountTables>, clientIds: string[]): Promise<Map<string, string>>
  /** Holds registrations until their address is confirmed, on hosts that offer it. */
  confirmation?: { isOn: boolean; problems: DefinedProblem[]; hold: Hold }
  close(): Promise<void>
}

/** `E` is the list of a host that records events of its own. */
export type SecurityEvent<E extends string = AuditEvent> = {
  event: E
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
  events: ReadonlySet<AuditEvent>
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

/** Methods, whose parameters a host may narrow: they get its own database, of which the accounts know a part. */
export type Hooks = Partial<
  Pick<
    Accounts,
    | 'registrationIsOpen'
    | 'onEvent'
    | 'gate'
    | 'turnAway'
    | 'isHeld'
    | 'clientNames'
    | 'confirmation'
  >
>

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
  { clock, log }: Pick<Accounts, 'clock' | 'log'>,
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
    log,
    settings,
    passwords,
    blockedPasswords: openBlocklist(settings.blocklistFile, settings),
    signingKeys,
    accessTokens: createAccessTokenSigner({ ...rules, issuer, lifetimeSeconds }, signingKeys),
    verifier: createAccessTokenVerifier(rules, signingKeys),
    registrationIsOpen: () => settings.registration.open,
    ...hooks,
    close: () => passwords.close(),
  }
}

/** The scopes of service keys that the routes of accounts accept. */
export const ACCOUNT_SCOPES = ['users:read', 'users:write'] as const

export type AccountScope = (typeof ACCOUNT_SCOPES)[number]

/** `S` are the scopes that the host has. */
export type AccountGuard<S extends string = AccountScope> = {
  caller: Guard
  /** Admits users with the role and, where the host has service keys, keys with the scope. */
  role(name: string, scope?: S): Guard
}
