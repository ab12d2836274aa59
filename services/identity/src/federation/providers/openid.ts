import { type Clock, systemClock } from '@plinth/kit/runtime'
import type { AuthorizationServer, Client, ClientAuth, IDToken, JWKSCacheInput } from 'oauth4webapi'
import type { ProviderSettings, ProviderType } from '../settings.ts'
import { appleSecret } from './apple-secret.ts'
import { authorizationUrl } from './authorization-url.ts'
import { type Call, callsTo, ROUND_MS, type Rules, requireAllowed } from './calls.ts'
import { keepMetadata } from './metadata.ts'
import { type Provider, type ProviderIdentity, Refused, type Round } from './provider.ts'

/** Loaded for the first sign-in: most services have no provider. */
const library = () => import('oauth4webapi')

/** RFC 6749, and what Apple sends when the person cancels. */
const REFUSALS = ['access_denied', 'user_cancelled_authorize']

/** Microsoft's issuer where users of any organisation may sign in. */
const ANY_TENANT = /^(https?:\/\/[^/]+)\/(common|organizations)(\/v2\.0)$/

/** How far the provider's clock may be off. */
const TOLERANCE_SECONDS = 60

/** Any OpenID provider, with what Google, Microsoft and Apple do differently. */
export function openIdProvider(settings: ProviderSettings, clock: Clock, rules: Rules): Provider {
  const { type } = settings
  const call = callsTo(settings.id, rules)
  const discoverNow = () => discover(settings, rules, call)
  const metadata = keepMetadata(clock, discoverNow)
  const keys: JWKSCacheInput = {}
  return {
    settings,

    ready: async () => void (await metadata()),

    async check() {
      const { jwks_uri: keysAt = '' } = await discoverNow()
      const { status } = await call('keys')(keysAt, { headers: { accept: 'application/json' } })
      if (status !== 200) throw new Error(`The provider answered ${status} instead of its keys`)
    },

    async authorizationUrl(round) {
      const { authorization_endpoint: endpoint = '' } = await metadata()
      // Apple demands the mode where a name or an address is asked for.
      const mode = type === 'apple' && { response_mode: 'form_post' }
      return authorizationUrl(endpoint, settings, round, { nonce: round.nonce, ...mode })
    },

    async identify(answer, round) {
      const oauth = await library()
      const calling = callingWith(oauth, call, rules)
      const server = await metadata()
      const client = clientOf(settings, oauth, clock)
      const parameters = read(() => oauth.validateAuthResponse(server, client, answer, round.state))
      const visit = { settings, oauth, server, client, clock, keys, calling }
      const { claims, accessToken } = await idTokenFor(visit, parameters, round)
      const { iss: issuer, sub: subject } = claims
      const address = await addressOf(type, claims, () => userInfo(visit, subject, accessToken))
      return { issuer, subject, ...address }
    },
  }
}

/** The options of each call of one visit, which share a deadline. */
function callingWith(oauth: OAuth, call: ReturnType<typeof callsTo>, { plainHttp }: Rules) {
  const signal = AbortSignal.timeout(ROUND_MS)
  return (name: Call) => ({
    [oauth.allowInsecureRequests]: plainHttp,
    [oauth.customFetch]: call(name),
    signal,
  })
}

type Visit = {
  settings: ProviderSettings
  oauth: OAuth
  server: AuthorizationServer
  client: Client
  clock: Clock
  keys: JWKSCacheInput
  calling: ReturnType<typeof callingWith>
}

/** The claims of an id token whose signature was verified: the library leaves that to its caller. */
async function idTokenFor(
  { settings, oauth, server, client, clock, keys, calling }: Visit,
  parameters: URLSearchParams,
  { redirectUri, verifier, nonce }: Round,
): Promise<{ claims: IDToken; accessToken: string }> {
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authenticationOf({ settings, server, clock }, oauth),
    parameters,
    redirectUri,
    verifier,
    calling('token'),
  )
  const named = settings.type === 'microsoft' ? await tenantsOwn(server, response) : server
  const expected = { expectedNonce: nonce, requireIdToken: true }
  const tokens = await oauth.processAuthorizationCodeResponse(named, client, response, expected)
  const options = { ...calling('keys'), [oauth.jwksCache]: keys }
  await oauth.validateApplicationLevelSignature(named, response, options)
  const claims = oauth.getValidatedIdTokenClaims(tokens)
  if (!claims) throw new Error('The provider sent no id token')
  requireParty(claims, settings.clientId)
  return { claims, accessToken: tokens.access_token }
}

/** It must be about the same subject. */
async function userInfo(
  { oauth, server, client, calling }: Visit,
  subject: string,
  accessToken: string,
): Promise<Claims> {
  if (!server.userinfo_endpoint) return {}
  const options = calling('userinfo')
  const response = await oauth.userInfoRequest(server, client, accessToken, options)
  return oauth.processUserInfoResponse(server, client, subject, response)
}

type OAuth = Awaited<ReturnType<typeof library>>

async function discover(
  settings: ProviderSettings,
  rules: Rules,
  call: ReturnType<typeof callsTo>,
): Promise<AuthorizationServer> {
  const oauth = await library()
  const issuer =
    settings.type === 'microsoft'
      ? settings.issuer.replace(ANY_TENANT, '$1/{tenantid}$3')
      : settings.issuer
  const response = await oauth.discoveryRequest(new URL(settings.issuer), {
    [oauth.allowInsecureRequests]: rules.plainHttp,
    [oauth.customFetch]: call('discovery'),
  })
  const server = await oauth.processDiscoveryResponse(new URL(issuer), response)
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    const { [name]: endpoint } = server
    if (!endpoint || !URL.canParse(endpoint))
      throw new Error(`The provider's document has no ${name}`)
    requireAllowed(endpoint, rules.plainHttp)
  }
  return server
}

/** The library reads the system's time; ours may be another one. */
function clientOf({ clientId }: ProviderSettings, oauth: OAuth, clock: Clock): Client {
  const skew = Math.round((clock().getTime() - systemClock().getTime()) / 1000)
  return {
    client_id: clientId,
    [oauth.clockSkew]: skew,
    [oauth.clockTolerance]: TOLERANCE_SECONDS,
  }
}

type Authenticating = { settings: ProviderSettings; server: AuthorizationServer; clock: Clock }

function authenticationOf({ settings, server, clock }: Authenticating, oauth: OAuth): ClientAuth {
  const { appleKey, clientId, clientSecret } = settings
  if (appleKey)
    return oauth.ClientSecretPost(appleSecret(appleKey, { clientId, issuer: server.issuer }, clock))
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_basic')
    ? oauth.ClientSecretBasic(clientSecret)
    : oauth.ClientSecretPost(clientSecret)
}

/** An answer that says no is not a fault. */
function read(validate: () => URLSearchParams): URLSearchParams {
  try {
    return validate()
  } catch (cause) {
    const { error = '' } = cause as { error?: string }
    throw REFUSALS.includes(error) ? new Refused(error, { cause }) : cause
  }
}

/** The issuer of the tenant that the token names; the comparison with `iss` follows. */
async function tenantsOwn(
  server: AuthorizationServer,
  response: Response,
): Promise<AuthorizationServer> {
  const { id_token: token } = (await response.clone().json()) as { id_token?: unknown }
  const [, payload = ''] = String(token).split('.')
  const { tid } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as IDToken
  return { ...server, issuer: server.issuer.replace('{tenantid}', String(tid)) }
}

/** OpenID Connect Core, 3.1.3.7: the library checks it only where there are several audiences. */
function requireParty({ azp }: IDToken, clientId: string): void {
  if (azp !== undefined && azp !== clientId)
    throw new Error('The id token was issued to another client')
}

type Claims = {
  email?: unknown
  email_verified?: unknown
  xms_edov?: unknown
  [name: string]: unknown
}

type Address = Pick<ProviderIdentity, 'email' | 'emailVerified'>

/**
 * From the id token or, if that lacks it, from userinfo: never the address of one with the word of the other that it
 * is verified.
 */
async function addressOf(
  type: ProviderType,
  claims: IDToken,
  askUserInfo: () => Promise<Claims>,
): Promise<Address> {
  const own = addressIn(type, claims)
  const isComplete = claims.email_verified !== undefined || type === 'microsoft'
  if (own.email !== undefined && isComplete) return own
  const asked = addressIn(type, await askUserInfo())
  return asked.email === undefined ? own : asked
}

/**
 * Only `true` counts. Apple sends text. Microsoft's addresses are whatever an administrator of any organisation has
 * typed in (nOAuth): only `xms_edov` says that the owner of the domain was verified.
 */
function addressIn(type: ProviderType, { email, ...claims }: Claims): Address {
  const { email_verified: verified, xms_edov: domainOwner } = claims
  const isVerified =
    type === 'microsoft'
      ? [true, 1, '1', 'true'].some((yes) => yes === domainOwner)
      : verified === true || (type === 'apple' && verified === 'true')
  return typeof email === 'string'
    ? { email, emailVerified: isVerified }
    : { email: undefined, emailVerified: false }
}
