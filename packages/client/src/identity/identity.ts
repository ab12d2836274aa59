import {
  type AccountCalls,
  type AccountsOptions,
  accountCalls,
  type OpenSession,
  openSession,
} from '../accounts.ts'
import { type Call, jsonOf, nothingOf, segmentOf } from '../http/request.ts'
import {
  type EventCalls,
  eventCalls,
  type ProtectedResourceCalls,
  protectedResourceCalls,
  type ServiceKeyCalls,
  serviceKeyCalls,
} from '../operations.ts'
import type { TokenPair } from '../session/stores.ts'
import { type LifecycleCalls, lifecycleCalls } from './lifecycle.ts'
import { type FactorCalls, factorCalls, type RecoveryCalls, recoveryCalls } from './recovery.ts'

export type Passkey = { id: string; label: string; createdAt: string; lastUsedAt: string }

export type PasskeyCalls = {
  passkeys(): Promise<Passkey[]>
  /** Pass the result to `PublicKeyCredential.parseCreationOptionsFromJSON`. */
  passkeyCreationOptions(): Promise<Record<string, unknown>>
  /** The credential is what `navigator.credentials.create` returned, or its `toJSON()`. */
  addPasskey(credential: unknown, label: string): Promise<void>
  removePasskey(id: string): Promise<void>
  /** Pass the result to `PublicKeyCredential.parseRequestOptionsFromJSON`. */
  passkeyRequestOptions(): Promise<Record<string, unknown>>
  /** The credential is what `navigator.credentials.get` returned, or its `toJSON()`. */
  logInWithPasskey(credential: unknown): Promise<TokenPair>
  passkeysOfUser(id: number): Promise<Passkey[]>
  removePasskeysOfUser(id: number, reason: string): Promise<void>
  removePasskeyOfUser(id: number, passkeyId: string, reason: string): Promise<void>
  /** The token that the passkey calls above send automatically. */
  csrfToken(): Promise<{ headerName: string; parameterName: string; token: string }>
}

export type ClientToken = {
  access_token: string
  token_type: string
  expires_in: number
  scope: string
}

/** RFC 7662. A token that is not valid, or no longer valid, has only `active`. */
export type Introspection = {
  active: boolean
  sub?: string
  username?: string
  scope?: string
  client_id?: string
  token_type?: string
  exp?: number
  iat?: number
  iss?: string
  aud?: string | string[]
  jti?: string
  sid?: string
  [claim: string]: unknown
}

/** For servers; the first two send `accessToken`, which must be a service key. */
export type OAuthCalls = {
  /** A token, valid for 15 minutes, that other services can verify without a call. */
  clientToken(scope?: string): Promise<ClientToken>
  introspect(token: string): Promise<Introspection>
  revoke(token: string): Promise<void>
  authorizationServerMetadata(): Promise<Record<string, string | string[]>>
  /** Also for a service key with the scope `tokens:introspect`. */
  userStatus(id: number): Promise<{ enabled: boolean }>
}

export type IdentityClient = AccountCalls &
  PasskeyCalls &
  FactorCalls &
  RecoveryCalls &
  LifecycleCalls &
  OAuthCalls &
  ServiceKeyCalls &
  EventCalls &
  ProtectedResourceCalls

export function identityClient(baseUrl: string, options: AccountsOptions = {}): IdentityClient {
  const opened = openSession(baseUrl, options)
  return {
    ...accountCalls(opened),
    ...passkeyCalls(opened),
    ...oauthCalls(opened),
    ...factorCalls(opened),
    ...recoveryCalls(opened),
    ...lifecycleCalls(opened),
    ...serviceKeyCalls(opened.calling),
    ...eventCalls(opened.calling),
    ...protectedResourceCalls(opened.send),
  }
}

function passkeyCalls({ send, calling, session }: OpenSession): PasskeyCalls {
  const csrfToken: PasskeyCalls['csrfToken'] = () => jsonOf(send('GET', '/webauthn/csrf'))
  const withCsrf = async (call?: Call) => {
    const { token } = await csrfToken()
    return { ...call, headers: { 'x-xsrf-token': token } }
  }
  return {
    csrfToken,
    passkeys: () => jsonOf(calling('GET', '/api/users/me/passkeys')),
    passkeyCreationOptions: async () =>
      jsonOf(calling('POST', '/webauthn/register/options', await withCsrf())),
    addPasskey: async (credential, label) => {
      const json = { publicKey: { credential, label } }
      await nothingOf(calling('POST', '/webauthn/register', await withCsrf({ json })))
    },
    removePasskey: async (id) => {
      const path = `/webauthn/register/${segmentOf(id)}`
      await nothingOf(calling('DELETE', path, await withCsrf()))
    },
    passkeyRequestOptions: async () =>
      jsonOf(send('POST', '/webauthn/authenticate/options', await withCsrf())),
    logInWithPasskey: async (json) => {
      const call = await withCsrf({ json })
      const pair = await jsonOf<TokenPair>(send('POST', '/login/webauthn', call))
      session.pair = pair
      return pair
    },
    passkeysOfUser: (id) => jsonOf(calling('GET', `/api/users/${id}/passkeys`)),
    removePasskeysOfUser: (id, reason) =>
      nothingOf(calling('DELETE', `/api/users/${id}/passkeys`, { json: { reason } })),
    removePasskeyOfUser: (id, passkeyId, reason) => {
      const path = `/api/users/${id}/passkeys/${segmentOf(passkeyId)}`
      return nothingOf(calling('DELETE', path, { json: { reason } }))
    },
  }
}

function oauthCalls({ send, calling }: OpenSession): OAuthCalls {
  return {
    clientToken: (scope) =>
      jsonOf(send('POST', '/oauth2/token', { form: { grant_type: 'client_credentials', scope } })),
    introspect: (token) => jsonOf(send('POST', '/oauth2/introspect', { form: { token } })),
    revoke: (token) => nothingOf(send('POST', '/oauth2/revoke', { form: { token } })),
    userStatus: (id) => jsonOf(calling('GET', `/api/users/${id}/status`)),
    authorizationServerMetadata: () =>
      jsonOf(send('GET', '/.well-known/oauth-authorization-server')),
  }
}
