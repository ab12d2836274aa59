import { Type } from '@plinth/kit/http'
import { defineProblem } from '@plinth/kit/problems'

export const invalid = (code: string, detail: string, members?: Record<string, object>) =>
  defineProblem(code, 400, detail, { title: 'Invalid request', members })

export const conflict = (
  code: string,
  detail: string,
  headers?: Record<string, string>,
  members?: Record<string, object>,
) => defineProblem(code, 409, detail, { title: 'Request conflict', headers, members })

const failed = (code: string, detail: string, headers?: Record<string, string>) =>
  defineProblem(code, 502, detail, { title: 'Provider request failed', headers })

export const notConfigured = (code: string, detail: string) =>
  defineProblem(code, 503, detail, { title: 'Provider is not configured' })

export const webhookNotConfigured = notConfigured(
  'WEBHOOK_NOT_CONFIGURED',
  'The webhook secret is not configured.',
)

/** Each provider has its own header. */
export const signatureMissing = (header: string) =>
  invalid('SIGNATURE_MISSING', `The ${header} header is missing.`)

export const signatureRejected = invalid(
  'SIGNATURE_INVALID',
  'The signature does not match the body, the secret or the time.',
)

export const deliveryIncompatible = invalid(
  'DELIVERY_INCOMPATIBLE',
  'Send the event as an uncompressed application/json body.',
)

export const eventMalformed = invalid(
  'EVENT_MALFORMED',
  'The body is not an event of the provider.',
)

/** The provider's own error code, and the parameter that it names. */
const members = { providerCode: Type.String(), param: Type.String() }

export const providerRejected = invalid(
  'PROVIDER_REJECTED_REQUEST',
  'The provider rejected a value of the request.',
  members,
)

export const providerResourceMissing = defineProblem(
  'PROVIDER_RESOURCE_NOT_FOUND',
  404,
  'The provider has no object with this id.',
  { title: 'Provider resource not found', members },
)

export const keyReused = conflict(
  'PROVIDER_REFERENCE_REUSED',
  'The provider has seen this reference with other content.',
)

export const providerBusy = conflict(
  'PROVIDER_BUSY',
  'The provider is still working on the same request. Try again in a moment.',
  { 'retry-after': '2' },
)

export const rateLimited = defineProblem(
  'PROVIDER_RATE_LIMITED',
  429,
  'The provider is limiting the rate of requests. Try again later.',
  { title: 'Provider rate limit exceeded', sends: ['retry-after'] },
)

export const providerFailed = failed(
  'PROVIDER_FAILED',
  'The provider failed to answer the request.',
  { 'retry-after': '5' },
)

/** For example, an object stored here is missing there: another account or mode, or a wiped sandbox. */
export const providerInconsistent = failed(
  'PROVIDER_INCONSISTENT',
  'The provider and this service disagree about the payment.',
)

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

/** The problems that any call to the provider may end in. */
export const CALL_PROBLEMS = [
  providerRejected,
  keyReused,
  providerBusy,
  rateLimited,
  providerFailed,
  credentialRejected,
  providerUnavailable,
]

/** An object created there once must exist: its absence is never a reason to create another. */
export function mustExist<T>(reading: Promise<T>): Promise<T> {
  return reading.catch((error) => {
    throw missingIsInconsistent(error)
  })
}

export function missingIsInconsistent(error: unknown): unknown {
  return providerResourceMissing.is(error) ? providerInconsistent({ cause: error }) : error
}
