import { defineProblem } from '@plinth/kit/problems'

export const urlNotAllowed = defineProblem(
  'URL_NOT_ALLOWED',
  400,
  'Events may not be sent to this address.',
  { title: 'Validation failed' },
)

export const tooManyEndpoints = defineProblem(
  'TOO_MANY_ENDPOINTS',
  409,
  'There are 20 endpoints already. Delete one that is not needed.',
)

export const endpointMissing = defineProblem(
  'ENDPOINT_NOT_FOUND',
  404,
  'There is no endpoint with this id.',
  { title: 'Resource not found' },
)

export const endpointNotActive = defineProblem(
  'ENDPOINT_NOT_ACTIVE',
  409,
  'The endpoint is disabled. Make it active first.',
)

export const eventMissing = defineProblem(
  'EVENT_NOT_FOUND',
  404,
  'There is no event with this id.',
  { title: 'Resource not found' },
)

export const cursorGone = defineProblem(
  'CURSOR_GONE',
  410,
  'The last event you read has been deleted. Read the current state, then start over.',
)

export const tooManyStreams = defineProblem(
  'TOO_MANY_STREAMS',
  503,
  'Too many streams of events are open.',
  { headers: { 'retry-after': '30' } },
)

export const secretsNotConfigured = defineProblem(
  'WEBHOOKS_NOT_CONFIGURED',
  503,
  'Endpoints have secrets, and this service has no master key to encrypt them with.',
)
