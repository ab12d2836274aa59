import { defineProblem } from '@plinth/kit/problems'

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

const token = { type: 'string' }

export const passwordChangeRequired = defineProblem(
  'PASSWORD_CHANGE_REQUIRED',
  401,
  'Choose a new password first. The token is for that and works for 10 minutes.',
  { members: { token } },
)

export const loginPendingDeletion = defineProblem(
  'DELETION_PENDING',
  401,
  'This account is about to be erased. The token cancels that and works for 10 minutes.',
  { members: { token, deletesAt: { type: 'string', format: 'date-time' } } },
)
