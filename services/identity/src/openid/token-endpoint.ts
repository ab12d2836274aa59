import { tooManyFailures } from '@plinth/accounts'
import type { DefinedProblem } from '@plinth/kit/problems'
import { requestInvalid } from '../oauth/problems.ts'
import { SCOPES } from '../scopes.ts'
import { ASSERTION_ALGORITHMS } from './client-assertions.ts'
import { authenticateClient, basicOf } from './client-authentication.ts'
import { looksLikeAddress } from './client-documents.ts'
import { exchangeCode } from './code-grant.ts'
import { pollDevice } from './device-grant.ts'
import { introspectGranted, revokeGranted } from './granted-tokens.ts'
import { isBuiltIn } from './known-clients.ts'
import {
  ACR_ONE_FACTOR,
  ACR_TWO_FACTORS,
  AUTHORIZATION_CODE,
  DEVICE_CODE,
  type OpenId,
  REFRESH_TOKEN,
  USER_SCOPES,
} from './openid.ts'
import { hasRepeated, type Parameters, parameter } from './parameters.ts'
import {
  authorizationPending,
  clientInvalid,
  clientUnauthorized,
  deviceCodeExpired,
  deviceDenied,
  documentUnavailable,
  grantInvalid,
  scopeNotGranted,
  slowDown,
  targetInvalid,
} from './problems.ts'
import { refreshTokens } from './refresh-grant.ts'
import type { TokenReply, TokenRequest } from './token.ts'

type Grant = (openid: OpenId, request: TokenRequest) => Promise<TokenReply>

const GRANTS: Record<string, Grant> = {
  [AUTHORIZATION_CODE]: exchangeCode,
  [REFRESH_TOKEN]: refreshTokens,
  [DEVICE_CODE]: pollDevice,
}

const PROBLEMS: DefinedProblem[] = [
  clientInvalid,
  clientUnauthorized,
  grantInvalid,
  scopeNotGranted,
  targetInvalid,
  authorizationPending,
  slowDown,
  deviceDenied,
  deviceCodeExpired,
  documentUnavailable,
  tooManyFailures,
]

/** What registered clients add to the endpoints that service keys have. */
export function clientEndpoints(openid: OpenId) {
  return {
    problems: PROBLEMS,
    grantTypes: Object.keys(GRANTS),
    metadata: () => metadataOf(openid),
    introspect: (token: string) => introspectGranted(openid, token),
    revoke: (token: string, origin: TokenRequest['origin']) => revokeGranted(openid, token, origin),
    grant: (grantType: string | undefined, request: TokenRequest) =>
      grantTo(openid, grantType, request),
  }
}

async function grantTo(
  openid: OpenId,
  grantType: string | undefined,
  request: TokenRequest,
): Promise<TokenReply | undefined> {
  const grant =
    grantType !== undefined && Object.hasOwn(GRANTS, grantType) ? GRANTS[grantType] : undefined
  if (!grant) {
    if (isRegistered(request)) await refuseOther(openid, grantType, request)
    return undefined
  }
  if (hasRepeated(request.form)) throw requestInvalid({ detail: 'A parameter is repeated.' })
  return grant(openid, request)
}

const CLIENT_ID = /^[A-Za-z0-9_-]{22}$/

/** Whether the request names a registered client and not a service key. */
function isRegistered({ form, authorization }: TokenRequest): boolean {
  if (form.has('client_assertion')) return true
  const id = named(form, authorization)
  return id !== undefined && (isBuiltIn(id) || CLIENT_ID.test(id) || looksLikeAddress(id))
}

function named(form: Parameters, authorization: string | undefined): string | undefined {
  return (authorization && basicOf(authorization)?.id) || parameter(form, 'client_id')
}

/** The scopes of service keys stay with service keys. */
async function refuseOther(
  openid: OpenId,
  grantType: string | undefined,
  request: TokenRequest,
): Promise<void> {
  await authenticateClient(openid, request)
  throw grantType === undefined
    ? requestInvalid({ detail: 'The parameter grant_type is missing.' })
    : clientUnauthorized()
}

/** OpenID Connect Discovery and RFC 8414. Absent members would have defaults that are not true here. */
function metadataOf({ publicUrl, documents, registration }: OpenId) {
  const at = (path: string) => `${publicUrl}/oauth2/${path}`
  return {
    authorization_endpoint: at('authorize'),
    userinfo_endpoint: at('userinfo'),
    end_session_endpoint: at('logout'),
    device_authorization_endpoint: at('device_authorization'),
    pushed_authorization_request_endpoint: at('par'),
    require_pushed_authorization_requests: false,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    grant_types_supported: [...Object.keys(GRANTS), 'client_credentials'],
    code_challenge_methods_supported: ['S256'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    token_endpoint_auth_methods_supported: [
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt',
      'none',
    ],
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    scopes_supported: [...USER_SCOPES, ...SCOPES],
    claims_supported: [
      ...['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'sid', 'amr', 'acr', 'at_hash'],
      ...['name', 'preferred_username', 'email', 'email_verified', 'roles'],
    ],
    acr_values_supported: [ACR_ONE_FACTOR, ACR_TWO_FACTORS],
    prompt_values_supported: ['none', 'login', 'consent', 'select_account', 'create'],
    ui_locales_supported: ['en', 'de', 'es'],
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    ...(documents !== 'off' && { client_id_metadata_document_supported: true }),
    ...(registration && { registration_endpoint: at('register') }),
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    claims_parameter_supported: false,
  }
}
