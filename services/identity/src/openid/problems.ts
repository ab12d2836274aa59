import { defineProblem } from '@plinth/kit/problems'

export const clientUnknown = defineProblem('CLIENT_NOT_FOUND', 404, 'There is no such client.')

export const clientWithoutSecret = defineProblem(
  'CLIENT_WITHOUT_SECRET',
  409,
  'This client does not authenticate with a secret.',
)

export const authorizationUnknown = defineProblem(
  'AUTHORIZATION_UNKNOWN',
  404,
  'This request was answered, has expired, or was made in another browser.',
)

export const signInRequired = defineProblem(
  'SIGN_IN_REQUIRED',
  409,
  'This request needs a sign-in first.',
)

export const signInRejected = defineProblem(
  'SIGN_IN_REJECTED',
  401,
  'This takes both tokens of a login that began after the request and was not handed over before.',
  { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } },
)

export const originRejected = defineProblem(
  'ORIGIN_REJECTED',
  403,
  'Only the pages of this service may send this.',
)

export const signOutUnknown = defineProblem(
  'SIGN_OUT_UNKNOWN',
  404,
  'This request was answered, has expired, or was made in another browser.',
)

export const grantUnknown = defineProblem(
  'GRANT_NOT_FOUND',
  404,
  'This application has not been allowed anything.',
)

export const userCodeUnknown = defineProblem(
  'USER_CODE_UNKNOWN',
  404,
  'No device waits with this code. Check it, or let the device show a new one.',
)

// Codes of RFC 8628.
export const authorizationPending = defineProblem(
  'authorization_pending',
  400,
  'The user has not decided yet.',
)

export const slowDown = defineProblem(
  'slow_down',
  400,
  'Ask less often: wait five seconds longer from now on.',
)

export const deviceDenied = defineProblem('access_denied', 400, 'The user has refused.')

export const deviceCodeExpired = defineProblem(
  'expired_token',
  400,
  'The device code has expired: ask for a new one.',
)

// Codes of RFC 6749, RFC 6750 and RFC 8707.
export const grantInvalid = defineProblem(
  'invalid_grant',
  400,
  'The code or refresh token is invalid, has expired or was used, or belongs to another client.',
)

export const clientInvalid = defineProblem(
  'invalid_client',
  401,
  'The client is unknown or disabled, or did not authenticate as registered.',
  { headers: { 'www-authenticate': 'Basic realm="oauth2"' } },
)

export const clientUnauthorized = defineProblem(
  'unauthorized_client',
  400,
  'The client may not use this grant type.',
)

export const scopeNotGranted = defineProblem(
  'invalid_scope',
  400,
  'No scope is left, or one was asked for that was not granted.',
)

export const targetInvalid = defineProblem(
  'invalid_target',
  400,
  'The client may not ask for this resource.',
)

export const pushedRequestInvalid = defineProblem(
  'invalid_request',
  400,
  'The request could not be accepted.',
)

export const responseTypeUnsupported = defineProblem(
  'unsupported_response_type',
  400,
  'Only code is supported.',
)

export const requestNotSupported = defineProblem(
  'request_not_supported',
  400,
  'Send the parameters themselves.',
)

export const tokenInvalid = defineProblem(
  'invalid_token',
  401,
  'The access token is invalid or has expired.',
  { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } },
)

export const tokenMissing = defineProblem(
  'invalid_token',
  401,
  'This needs an access token: send it as "Authorization: Bearer <token>".',
  { headers: { 'www-authenticate': 'Bearer' } },
)

export const openIdNotGranted = defineProblem(
  'insufficient_scope',
  403,
  'The access token does not have the scope openid.',
  { headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="openid"' } },
)

// Codes of RFC 7591.
export const registrationOff = defineProblem(
  'CLIENT_REGISTRATION_OFF',
  404,
  'Clients cannot register themselves here: ask an administrator.',
)

export const clientMetadataInvalid = defineProblem(
  'invalid_client_metadata',
  400,
  'The description of the client is not valid.',
)

export const redirectAddressInvalid = defineProblem(
  'invalid_redirect_uri',
  400,
  'A redirect address is missing or cannot be registered.',
)

export const documentUnavailable = defineProblem(
  'temporarily_unavailable',
  503,
  'The document that describes the client could not be fetched.',
)
