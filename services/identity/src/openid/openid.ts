import type { Accounts } from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import type { AddressRules, Clock } from '@plinth/kit/runtime'
import { createGrantedTokenVerifier, type SigningKeys } from '@plinth/kit/tokens'
import type { IdentityTables } from '../database/tables.ts'

/** What the rules of the provider need; every rule takes it as its first argument. */
export type OpenId = {
  accounts: Accounts
  db: Db<IdentityTables>
  clock: Clock
  /** The base URL of the endpoints and pages. */
  publicUrl: string
  issuer: string
  /** Who the tokens of users and first-party clients are meant for. */
  audience: string
  /** Resources that every client may ask for. */
  resources: string[]
  /** The base URLs of the consoles. */
  consoles: string[]
  /** Whether a client can be described by a document at its address, or the hosts of such documents. */
  documents: 'off' | 'on' | string[]
  /** Whether clients can register themselves. */
  registration: boolean
  /** Whether the command line is a client. */
  commandLogin: boolean
  idTokenKeys: SigningKeys
  granted: ReturnType<typeof createGrantedTokenVerifier>
  /** Where keys of clients may be fetched from. */
  addresses: AddressRules
  /** How users may sign in on the hosted page. */
  signIn: SignInOffer
}

type SignInOffer = {
  methods: string[]
  providers: { id: string; name: string }[]
}

type OpenIdSettings = Pick<
  OpenId,
  | 'publicUrl'
  | 'resources'
  | 'consoles'
  | 'documents'
  | 'registration'
  | 'commandLogin'
  | 'addresses'
  | 'signIn'
>

export function openOpenId(
  accounts: Accounts,
  db: Db<IdentityTables>,
  idTokenKeys: SigningKeys,
  settings: OpenIdSettings,
): OpenId {
  const { clock } = accounts
  const { issuer, audience } = accounts.settings
  const granted = createGrantedTokenVerifier({ clock }, accounts.signingKeys)
  return { accounts, db, clock, issuer, audience, idTokenKeys, granted, ...settings }
}

/** What clients may ask about a user. The scopes of service keys are never granted to them. */
export const USER_SCOPES = ['openid', 'profile', 'email', 'roles', 'offline_access'] as const

export const ACR_ONE_FACTOR = 'urn:plinth:1fa'
export const ACR_TWO_FACTORS = 'urn:plinth:2fa'

export const AUTHORIZATION_CODE = 'authorization_code'
export const REFRESH_TOKEN = 'refresh_token'
export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'
