import { defineProblem } from '@plinth/kit'

const INVALID = { title: 'Invalid request' }

export const eventMalformed = defineProblem(
  'EVENT_MALFORMED',
  400,
  'The body is not an event of the provider.',
  INVALID,
)

export const providerRejected = defineProblem(
  'PROVIDER_REJECTED_REQUEST',
  400,
  'The provider rejected a value of the request.',
  INVALID,
)

export const providerResourceMissing = defineProblem(
  'PROVIDER_RESOURCE_NOT_FOUND',
  404,
  'The provider knows nothing under this id.',
  { title: 'Provider resource not found' },
)

export const keyReused = defineProblem(
  'PROVIDER_REFERENCE_REUSED',
  409,
  'The provider has seen this reference with other content.',
  { title: 'Request conflict' },
)

export const providerBusy = defineProblem(
  'PROVIDER_BUSY',
  409,
  'The provider is still working on the same request. Try again in a moment.',
  { title: 'Request conflict', headers: { 'retry-after': '2' } },
)

export const rateLimited = defineProblem(
  'PROVIDER_RATE_LIMITED',
  429,
  'The provider asks to slow down. Try again later.',
  { title: 'Provider rate limit exceeded' },
)

export const providerFailed = defineProblem(
  'PROVIDER_FAILED',
  502,
  'The provider failed to answer the request.',
  { title: 'Provider request failed', headers: { 'retry-after': '5' } },
)

/** What is stored here does not exist there: another account, another mode, or a wiped sandbox. */
export const providerInconsistent = defineProblem(
  'PROVIDER_INCONSISTENT',
  502,
  'The provider and this service disagree about the payment.',
  { title: 'Provider request failed' },
)

/** What was made there once must exist: its absence is never a reason to make another. */
export function mustExist<T>(reading: Promise<T>): Promise<T> {
  return reading.catch((error) => {
    throw missingIsInconsistent(error)
  })
}

export function missingIsInconsistent(error: unknown): unknown {
  return providerResourceMissing.is(error) ? providerInconsistent({ cause: error }) : error
}

export const credentialRejected = defineProblem(
  'PROVIDER_CREDENTIAL_REJECTED',
  503,
  'The provider rejected the credential or its permissions.',
  { title: 'Provider authentication failed' },
)

export const providerUnavailable = defineProblem(
  'PROVIDER_UNAVAILABLE',
  503,
  'The provider could not be reached.',
  { title: 'Provider is unavailable', headers: { 'retry-after': '5' } },
)
