import { defineProblem } from '@plinth/kit/problems'

// The same answer for a token or code that never existed, was replaced, was used or has expired.
export const tokenRejected = defineProblem(
  'TOKEN_INVALID',
  400,
  'The link or code is invalid, or no longer valid. Ask for a new one.',
)
