import { type Accounts, introspectAccessToken, type Origin, revokeToken } from '@plinth/accounts'
import type { DefinedProblem } from '@plinth/kit/problems'
import { type ClientTokens, createClientTokens } from '@plinth/kit/tokens'
import { isServiceKeyInForce, type KeyCaller, type ServiceKeys } from '@plinth/service-keys'
import { SCOPES } from '../scopes.ts'
import { grantUnsupported, requestInvalid, scopeInvalid, tokenUnsupported } from './problems.ts'

export type OAuth = {
  accounts: Accounts
  keys: ServiceKeys
  tokens: ClientTokens
  extension?: OAuthExtension
}

type TokenRequest = {
  form: URLSearchParams
  authorization: string | undefined
  origin: Origin
}

type TokenReply = {
  access_token: string
  token_type: string
  expires_in: number
  scope: string
  id_token?: string
  refresh_token?: string
}

/** What registered clients add to the endpoints of service keys. */
export type OAuthExtension = {
  metadata(own: { grant_types_supported: string[]; scopes_supported: string[] }): object
  problems: DefinedProblem[]
  grantTypes: string[]
  /** Undefined if the request is that of a service key. */
  grant(grantType: string | undefined, request: TokenRequest): Promise<TokenReply | undefined>
  /** Undefined if the token was not issued to a registered client. */
  introspect(token: string): Promise<{ active: boolean } | undefined>
  /** Returns whether the token was issued to a registered client. */
  revoke(token: string, origin: Origin): Promise<boolean>
}

export function openOAuth(
  accounts: Accounts,
  keys: ServiceKeys,
  extension?: OAuthExtension,
): OAuth {
  const { issuer, audience, accessTokenLifetimeSeconds: lifetimeSeconds } = accounts.settings
  const rules = { issuer, audience, lifetimeSeconds, clock: accounts.clock }
  const tokens = createClientTokens(rules, accounts.signingKeys)
  return { accounts, keys, tokens, ...(extension && { extension }) }
}

/** RFC 8414 requires `response_types_supported`; without an authorization endpoint an empty list comes closest. */
export function metadataOf({ accounts, extension }: OAuth, publicUrl: string) {
  const own = {
    issuer: accounts.settings.issuer,
    jwks_uri: `${publicUrl}/.well-known/jwks.json`,
    token_endpoint: `${publicUrl}/oauth2/token`,
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    scopes_supported: [...SCOPES],
    introspection_endpoint: `${publicUrl}/oauth2/introspect`,
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'Bearer'],
    revocation_endpoint: `${publicUrl}/oauth2/revoke`,
    revocation_endpoint_auth_methods_supported: ['none'],
    service_documentation: `${publicUrl}/api-test`,
  }
  return { ...own, ...extension?.metadata(own) }
}

/** What the token endpoint accepts. */
export function grantTypesOf({ extension }: Pick<OAuth, 'extension'>): string[] {
  return ['client_credentials', ...(extension?.grantTypes ?? [])]
}

type Grant = { grantType: string | undefined; scope: string | undefined }

/** RFC 6749, section 4.4: a short-lived token for a service key, which others can verify offline. */
export async function grantToken(
  { tokens }: OAuth,
  { userId, keyId, scopes }: KeyCaller,
  { grantType, scope }: Grant,
) {
  if (grantType === undefined) throw requestInvalid()
  if (grantType !== 'client_credentials') throw grantUnsupported()
  const granted = scope === undefined ? scopes : [...new Set(scope.split(' '))]
  if (!granted.every((name) => scopes.includes(name))) throw scopeInvalid()
  return {
    access_token: await tokens.sign({ clientId: userId, keyId, scopes: granted }),
    token_type: 'Bearer',
    expires_in: tokens.lifetimeSeconds,
    scope: granted.join(' '),
  }
}

/**
 * RFC 7662. Nothing is said about an inactive token. A refresh token is reported as inactive: a service
 * that asks about one was sent it by mistake, and must not accept it.
 */
export async function introspect({ accounts, keys, tokens, extension }: OAuth, token: string) {
  const granted = await extension?.introspect(token)
  if (granted) return granted
  const user = await introspectAccessToken(accounts, token)
  if (user) return { active: true, token_type: 'Bearer', scope: user.roles.join(' '), ...user }
  const client = await tokens.verify(token)
  if (!client || !(await isServiceKeyInForce(keys, client.keyId))) return { active: false }
  const { clientId, scopes, iat, exp, jti } = client
  const { issuer, audience } = accounts.settings
  const about = { sub: clientId, client_id: clientId, iss: issuer, aud: audience }
  const times = { iat, nbf: iat, exp, jti }
  return { active: true, token_type: 'Bearer', scope: scopes.join(' '), ...about, ...times }
}

/** RFC 7009. Whoever holds a token may revoke it; an unknown token counts as revoked. */
export async function revoke(oauth: OAuth, token: string, origin: Origin): Promise<void> {
  if (await oauth.extension?.revoke(token, origin)) return
  if (await oauth.tokens.verify(token)) throw tokenUnsupported()
  await revokeToken(oauth.accounts, token, origin)
}
