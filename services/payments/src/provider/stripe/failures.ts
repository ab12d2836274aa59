import { Problem, type ProblemOptions } from '@plinth/kit/problems'
import { afterLostTry, ProviderFailure } from '../failures.ts'
import {
  credentialRejected,
  keyReused,
  providerBusy,
  providerFailed,
  providerRejected,
  providerResourceMissing,
  providerUnavailable,
  rateLimited,
} from '../problems.ts'

/** What Stripe's client throws. Its `type` is reliable where `instanceof` is not. */
type ClientError = {
  type?: string
  code?: string
  param?: string
  message?: string
  statusCode?: number
  headers?: Record<string, string>
}

export type ReplyHead = { statusCode: number; headers: Record<string, string> }

/** A failure without the provider's own error object: only the status shows its kind. */
export class UnexplainedError extends Error {
  readonly statusCode: number
  readonly headers: Record<string, string>

  constructor({ statusCode, headers }: ReplyHead) {
    super(`The provider answered ${statusCode} without saying why.`)
    this.statusCode = statusCode
    this.headers = headers
  }
}

/** The only place where a failure of Stripe becomes one of our problems. */
export function translateFailure(cause: unknown, tries: number): ProviderFailure {
  if (cause instanceof Problem) return new ProviderFailure(cause, { tries })
  const isUnexplained = cause instanceof UnexplainedError
  const problem = isUnexplained ? problemOfStatus(cause) : problemOf(cause as ClientError)
  const isReplay = headersOf(cause as ClientError)['idempotent-replayed'] === 'true'
  const failure = new ProviderFailure(problem, { tries, isReplay, isUnexplained })
  return tries > 1 ? afterLostTry(failure) : failure
}

function problemOfStatus(cause: UnexplainedError): Problem {
  switch (cause.statusCode) {
    case 400:
      return providerRejected(refusal(cause))
    case 401:
    case 403:
      return credentialRejected({ cause })
    case 404:
      return providerResourceMissing(refusal(cause))
    case 429:
      return rateLimited({ cause, headers: retryAfter(cause) })
    default:
      return providerFailed({ cause })
  }
}

function problemOf(cause: ClientError): Problem {
  switch (cause.type) {
    case 'StripeConnectionError':
      return providerUnavailable({ cause })
    case 'StripeAuthenticationError':
    case 'StripePermissionError':
      return credentialRejected({ cause })
    case 'StripeRateLimitError':
      return rateLimited({ cause, headers: retryAfter(cause) })
    case 'StripeIdempotencyError':
      return keyReused({ cause })
    case 'StripeCardError':
    case 'StripeInvalidRequestError':
      return cause.code === 'resource_missing' || cause.statusCode === 404
        ? providerResourceMissing(refusal(cause))
        : providerRejected(refusal(cause))
    case 'StripeAPIError':
      return cause.code === 'idempotency_key_in_use'
        ? providerBusy({ cause })
        : providerFailed({ cause })
    default:
      return providerFailed({ cause })
  }
}

// Stripe's message helps the caller; it never contains the masked key or the raw reply.
function refusal(error: ClientError): ProblemOptions {
  const extra: Record<string, unknown> = {}
  if (error.code) extra.providerCode = error.code
  if (error.param) extra.param = error.param
  return { cause: error, detail: error.message, extra }
}

function retryAfter(error: ClientError): Record<string, string> {
  const seconds = headersOf(error)['retry-after'] ?? ''
  return { 'retry-after': /^\d{1,5}$/.test(seconds) ? seconds : '1' }
}

function headersOf(error: ClientError | undefined): Record<string, string> {
  return error?.headers ?? {}
}
