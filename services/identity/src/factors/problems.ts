import { defineProblem } from '@plinth/kit/problems'

const methods = { type: 'array', items: { type: 'string', enum: ['totp', 'recoveryCode'] } }

// To a client that does not know second factors this is a plain 401: it never gets a partial session.
export const mfaRequired = defineProblem(
  'MFA_REQUIRED',
  401,
  'This account has a second factor: send its code as well.',
  { members: { mfaToken: { type: 'string' }, methods } },
)

export const codeRejected = defineProblem(
  'INVALID_CODE',
  401,
  'The code is wrong or was used before. With no tries left, sign in again.',
  { members: { triesLeft: { type: 'integer' } } },
)

export const factorActive = defineProblem(
  'SECOND_FACTOR_ACTIVE',
  409,
  'There is a second factor already. Remove it first.',
)

export const factorAbsent = defineProblem(
  'SECOND_FACTOR_NOT_FOUND',
  404,
  'There is no second factor, or its enrolment has expired.',
)

/** The suite's problem, with what only this service offers. */
export const reauthenticationRequired = defineProblem(
  'REAUTHENTICATION_REQUIRED',
  403,
  'Prove again who you are: POST /api/auth/reauthenticate, then repeat this.',
)

export const emailNotVerified = defineProblem(
  'EMAIL_NOT_VERIFIED',
  403,
  'Confirm your e-mail address first. A new mail can be asked for.',
)
