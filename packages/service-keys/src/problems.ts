import { defineProblem } from '@plinth/kit/problems'

export const keyRejected = defineProblem(
  'INVALID_SERVICE_KEY',
  401,
  'The service key is unknown, expired or revoked.',
  { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } },
)

export const scopeMissing = defineProblem(
  'INSUFFICIENT_SCOPE',
  403,
  'The service key does not have the scope that this needs.',
  { sends: ['www-authenticate'] },
)

/** RFC 6750, section 3.1. */
export const insufficientScope = (scope: string) =>
  scopeMissing({
    detail: `This needs a service key with the scope ${scope}.`,
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })

export const keyInBrowser = defineProblem(
  'KEY_IN_BROWSER',
  403,
  'A service key does not belong in a browser: everyone who opens the page can read it.',
)

export const tooManyKeyFailures = defineProblem(
  'TOO_MANY_REQUESTS',
  429,
  'Too many requests with a bad service key came from this address.',
  { sends: ['retry-after'] },
)

export const keyUnknown = defineProblem('SERVICE_KEY_NOT_FOUND', 404, 'There is no such key.', {
  title: 'Resource not found',
})

export const keyEnded = defineProblem(
  'SERVICE_KEY_ENDED',
  409,
  'The key has expired, was revoked or was replaced already.',
)
