import { defineProblem } from '@plinth/kit/problems'

export const csrfTokenRejected = defineProblem(
  'CSRF_TOKEN_INVALID',
  403,
  'Get a token from /webauthn/csrf and send it as "X-XSRF-TOKEN".',
)

export const passkeysDisabled = defineProblem(
  'PASSKEYS_DISABLED',
  403,
  'Passkeys are switched off on this server.',
)

export const passkeyNotAdded = defineProblem(
  'PASSKEY_REGISTRATION_FAILED',
  400,
  'The passkey could not be registered. Ask for new options and try again.',
)

// The same answer for every failed passkey login.
export const passkeyRejected = defineProblem(
  'INVALID_CREDENTIALS',
  401,
  'The passkey was not accepted.',
)

export const passkeyUnknown = defineProblem(
  'PASSKEY_NOT_FOUND',
  404,
  'This user has no such passkey.',
)

export const passkeyNotYours = defineProblem(
  'ACCESS_DENIED',
  403,
  'You have no passkey with this id.',
)
