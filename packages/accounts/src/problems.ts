import { defineProblem } from '@plinth/kit/problems'

// The same answer for an unknown user, a wrong password and a disabled account: the caller must not
// learn which it was.
export const credentialsRejected = defineProblem(
  'INVALID_CREDENTIALS',
  401,
  'The username or password is wrong.',
)

export const refreshTokenRejected = defineProblem(
  'INVALID_REFRESH_TOKEN',
  401,
  'The refresh token is invalid, or no longer valid.',
)

export const registrationClosed = defineProblem(
  'REGISTRATION_CLOSED',
  403,
  'Registration is closed. Ask an operator for an account.',
)

export const usernameTaken = defineProblem(
  'USERNAME_ALREADY_EXISTS',
  409,
  'An account with this username already exists.',
)

export const emailTaken = defineProblem(
  'EMAIL_ALREADY_EXISTS',
  409,
  'An account with this e-mail address already exists.',
)

export const lastAdministrator = defineProblem(
  'LAST_ADMINISTRATOR',
  409,
  'This is the last enabled administrator: make another one first.',
)

export const deletionPending = defineProblem(
  'ACCOUNT_DELETION_PENDING',
  409,
  'This account is about to be erased: cancel that first.',
)

export const userUnknown = defineProblem('USER_NOT_FOUND', 404, 'There is no such user.')

export const sessionUnknown = defineProblem(
  'SESSION_NOT_FOUND',
  404,
  'There is no such session, or it has ended.',
)

export const tooManyFailures = defineProblem(
  'TOO_MANY_ATTEMPTS',
  429,
  'There were too many attempts. Try again later.',
  { sends: ['retry-after'] },
)
