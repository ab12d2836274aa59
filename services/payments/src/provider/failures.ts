import { Problem, type ProblemOptions } from '@plinth/kit'
import {
  credentialRejected,
  keyReused,
  providerBusy,
  providerFailed,
  providerRejected,
  providerResourceMissing,
  providerUnavailable,
  rateLimited,
} from './problems.ts'

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

/** What a failed call tells about the things it may have done all the same. */
type CallFacts = {
  /** An earlier try of the same call got lost, so a refusal says nothing about that one. */
  lostTry: boolean
  /** The provider repeated the outcome it has stored for the idempotency key. */
  remembered: boolean
}

const known = new WeakMap<Problem, CallFacts>()

export function withFacts(problem: Problem, facts: CallFacts): Problem {
  known.set(problem, facts)
  return problem
}

const BEFORE_EXECUTION = [rateLimited, credentialRejected]

const FOR_GOOD = [providerRejected, providerResourceMissing, keyReused]

/** True when this request is refused for ever. Unless `isKeyUsed`, none under its key did anything. */
export function refusedForGood(error: unknown): boolean {
  return FOR_GOOD.some((kind) => kind.is(error))
}

/** True when this one call certainly did nothing. Anything else may have happened all the same. */
export function provenRefused(error: unknown): boolean {
  if (!(error instanceof Problem)) return false
  if (refusedForGood(error)) return true
  return BEFORE_EXECUTION.some((kind) => kind.is(error)) && !factsOf(error).lostTry
}

/** True when the key was used with other content: what came of that only a look-up tells. */
export function isKeyUsed(error: unknown): boolean {
  return keyReused.is(error)
}

/** True when the first request under the key is over: what a look-up does not find now never was. */
export function isRemembered(error: unknown): boolean {
  return error instanceof Problem && factsOf(error).remembered
}

function factsOf(problem: Problem): CallFacts {
  return known.get(problem) ?? { lostTry: false, remembered: false }
}
