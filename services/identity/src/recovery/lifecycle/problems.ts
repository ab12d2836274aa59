import { defineProblem } from '@plinth/kit/problems'

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

export const noDeletion = defineProblem(
  'NO_DELETION_PENDING',
  409,
  'The erasure of this account was not requested, or it was cancelled.',
)
