import { defineProblem } from '@plinth/kit/problems'

export const signInCodeDisabled = defineProblem(
  'SIGN_IN_CODE_DISABLED',
  403,
  'Signing in with a mailed code is switched off.',
)
