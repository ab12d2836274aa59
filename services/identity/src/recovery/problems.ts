import { defineProblem } from '@plinth/kit'

// The same answer for a token or code that never existed, was replaced, was used or has expired.
export const tokenRejected = defineProblem(
  'TOKEN_INVALID',
  400,
  'The link or code is not valid, or not any more. Ask for a new one.',
)
