import { type Accounts, introspectAccessToken, type Origin, revokeToken } from '@plinth/accounts'
import { type ClientTokens, createClientTokens } from '@plinth/kit/tokens'
import { isServiceKeyInForce, type KeyCaller, type ServiceKeys } from '@plinth/service-keys'
import { SCOPES } from '../scopes.ts'
import { grantUnsupported, requestInvalid, scopeInvalid, tokenUnsupported } from './problems.ts'

export type OAuth = { accounts: Accounts; keys: ServiceKeys; tokens: ClientTokens }

export function openOAuth(accounts: Accounts, keys: ServiceKeys): OAuth {
  const { issuer, audience, accessTokenLifetimeSeconds: lifetimeSeconds } = accounts.settings
  const rules = { issuer, audience, lifetimeSeconds, clock: accounts.clock }
  return { accounts, keys, tokens: createClientTokens(rules, accounts.signingKeys) }
}

/** RFC 8414 requires `response_types_supported`; without an authorization endpoint an empty list comes closest. */
export function metadataOf({ accounts }: OAuth, publicUrl: string) {
  return {
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
export async function introspect({ accounts, keys, tokens }: OAuth, token: string) {
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
  if (await oauth.tokens.verify(token)) throw tokenUnsupported()
  await revokeToken(oauth.accounts, token, origin)
}
