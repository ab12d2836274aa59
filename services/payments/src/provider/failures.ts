import { defineProblem, Problem, type ProblemOptions } from '@plinth/kit'

export const providerRejected = defineProblem(
  'PROVIDER_REJECTED_REQUEST',
  400,
  'The provider rejected a value of the request.',
  { title: 'Invalid request' },
)

export const providerResourceMissing = defineProblem(
  'PROVIDER_RESOURCE_NOT_FOUND',
  404,
  'The provider knows nothing under this id.',
  { title: 'Provider resource not found' },
)

export function isMissing(error: unknown): error is Problem {
  return error instanceof Problem && error.code === 'PROVIDER_RESOURCE_NOT_FOUND'
}

const keyReused = defineProblem(
  'PROVIDER_REFERENCE_REUSED',
  409,
  'The provider has seen this reference with other content.',
  { title: 'Request conflict' },
)

const providerBusy = defineProblem(
  'PROVIDER_BUSY',
  409,
  'The provider is still working on the same request. Try again in a moment.',
  { title: 'Request conflict', headers: { 'retry-after': '2' } },
)

const rateLimited = defineProblem(
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
export async function mustExist<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    throw isMissing(error) ? providerInconsistent({ cause: error }) : error
  }
}

const credentialRejected = defineProblem(
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

/** What the provider's client throws; its `type` is stable where `instanceof` is not. */
type ClientError = {
  type?: string
  code?: string
  param?: string
  message?: string
  statusCode?: number
  headers?: Record<string, string>
}

/** What is known of a reply besides its body. */
export type Answer = { statusCode: number; headers: Record<string, string> }

const TYPE_BY_STATUS: Record<number, string> = {
  400: 'StripeInvalidRequestError',
  401: 'StripeAuthenticationError',
  403: 'StripePermissionError',
  404: 'StripeInvalidRequestError',
  429: 'StripeRateLimitError',
}

/** A failure that came without the provider's own description: only the status tells its kind. */
export class UnexplainedFailure extends Error implements ClientError {
  readonly type: string
  readonly statusCode: number
  readonly headers: Record<string, string>

  constructor({ statusCode, headers }: Answer) {
    super(`The provider answered ${statusCode} without saying why.`)
    this.type = TYPE_BY_STATUS[statusCode] ?? 'StripeAPIError'
    this.statusCode = statusCode
    this.headers = headers
  }
}

/** The one place where a failure of the provider becomes a problem of ours. */
export function translateFailure(cause: unknown): Problem {
  if (cause instanceof Problem) return cause
  const error = cause as ClientError
  switch (error.type) {
    case 'StripeConnectionError':
      return providerUnavailable({ cause })
    case 'StripeAuthenticationError':
    case 'StripePermissionError':
      return credentialRejected({ cause })
    case 'StripeRateLimitError':
      return rateLimited({ cause, headers: retryAfter(error) })
    case 'StripeIdempotencyError':
      return keyReused({ cause })
    case 'StripeCardError':
    case 'StripeInvalidRequestError':
      return error.code === 'resource_missing' || error.statusCode === 404
        ? providerResourceMissing(refusal(error))
        : providerRejected(refusal(error))
    case 'StripeAPIError':
      return error.code === 'idempotency_key_in_use'
        ? providerBusy({ cause })
        : providerFailed({ cause })
    default:
      return providerFailed({ cause })
  }
}

// The provider's own words help the caller; its masked key or raw reply never appears in them.
function refusal(error: ClientError): ProblemOptions {
  const extra: Record<string, unknown> = {}
  if (error.code) extra.providerCode = error.code
  if (error.param) extra.param = error.param
  return { cause: error, detail: error.message, extra }
}

function retryAfter(error: ClientError): Record<string, string> {
  const seconds = error.headers?.['retry-after'] ?? ''
  return { 'retry-after': /^\d{1,5}$/.test(seconds) ? seconds : '1' }
}
