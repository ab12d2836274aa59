import { defineProblem } from '@plinth/kit/problems'

// The same answer for a token or code that never existed, was replaced, was used or has expired.
export const tokenRejected = defineProblem(
  'TOKEN_INVALID',
  400,
  'The link or code is invalid, or no longer valid. Ask for a new one.',
)

// For administrators only: other callers must not learn any of these.
export const accountDisabled = defineProblem(
  'ACCOUNT_DISABLED',
  409,
  'This account is disabled, so no mail is sent: enable it first.',
)

export const addressNotMailable = defineProblem(
  'ADDRESS_NOT_MAILABLE',
  409,
  'No mail can be sent to the address of this account.',
)

export const emailVerified = defineProblem(
  'EMAIL_ALREADY_VERIFIED',
  409,
  'The address of this account is verified already.',
)
