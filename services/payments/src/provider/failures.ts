import { Problem, type ProblemOptions } from '@plinth/kit/problems'
import {
  credentialRejected,
  keyReused,
  mustExist,
  providerBusy,
  providerFailed,
  providerRejected,
  providerResourceMissing,
  providerUnavailable,
  rateLimited,
} from './problems.ts'

const BEFORE_EXECUTION = [rateLimited, credentialRejected]
const FINAL = [providerRejected, providerResourceMissing, keyReused]

/** A failed call to the provider, and what is certain about it. */
export class ProviderFailure extends Problem {
  /** The call certainly had no effect. Otherwise it may have happened despite the failure. */
  readonly didNothing: boolean
  /** The request is refused for good. Unless `keyConflict`, no request under its key had any effect. */
  readonly isFinal: boolean
  /** The first request under the key has finished: if a look-up finds nothing now, it created nothing. */
  readonly isReplay: boolean
  /** Without the provider's own error object the answer may be that of a proxy in between. */
  readonly isUnexplained: boolean
  /** The key was used with other content: only a look-up shows what that request created. */
  readonly keyConflict: boolean

  /** `tries` counts requests that may have reached the provider; a refusal answers only the last one. */
  constructor(problem: Problem, tries: number) {
    super(problem.code, problem.status, problem.message, problem)
    const isRefusal = BEFORE_EXECUTION.some((kind) => kind.is(problem))
    this.isFinal = FINAL.some((kind) => kind.is(problem))
    this.didNothing = this.isFinal || tries === 0 || (isRefusal && tries === 1)
    this.isReplay = headersOf(problem.cause)['idempotent-replayed'] === 'true'
    this.isUnexplained = problem.cause instanceof UnexplainedError
    this.keyConflict = keyReused.is(problem)
  }
}

/** What is certain about a failed call, however it failed. */
export function certaintyOf(error: unknown): Partial<ProviderFailure> {
  return error instanceof ProviderFailure ? error : {}
}

/**
 * Reads an object that an earlier call created. That call succeeded, so nothing that is certain about
 * a failed read may be taken for the call: it would withdraw what exists, and create it again.
 */
export async function readCreated<T>(reading: Promise<T>): Promise<T> {
  try {
    return await mustExist(reading)
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    throw new Problem(error.code, error.status, error.message, error)
  }
}

/** What the provider's client throws. Its `type` is reliable where `instanceof` is not. */
type ClientError = {
  type?: string
  code?: string
  param?: string
  message?: string
  statusCode?: number
  headers?: Record<string, string>
}

export type ReplyHead = { statusCode: number; headers: Record<string, string> }

const TYPE_BY_STATUS: Record<number, string> = {
  400: 'StripeInvalidRequestError',
  401: 'StripeAuthenticationError',
  403: 'StripePermissionError',
  404: 'StripeInvalidRequestError',
  429: 'StripeRateLimitError',
}

/** A failure without the provider's own error object: only the status shows its kind. */
export class UnexplainedError extends Error {
  readonly type: string
  readonly statusCode: number
  readonly headers: Record<string, string>

  constructor({ statusCode, headers }: ReplyHead) {
    super(`The provider answered ${statusCode} without saying why.`)
    this.type = TYPE_BY_STATUS[statusCode] ?? 'StripeAPIError'
    this.statusCode = statusCode
    this.headers = headers
  }
}

/** The only place where a failure of the provider becomes one of our problems. */
export function translateFailure(cause: unknown, tries: number): ProviderFailure {
  const failure = new ProviderFailure(cause instanceof Problem ? cause : problemOf(cause), tries)
  return tries > 1 ? afterLostTry(failure) : failure
}

/**
 * An earlier request under the key may have had its effect. If so the provider repeats its reply; so a refusal that is
 * not the provider's own says nothing about it.
 */
export function afterLostTry<E>(error: E): E | ProviderFailure {
  const { isFinal, isUnexplained } = certaintyOf(error)
  return isFinal && isUnexplained ? new ProviderFailure(providerFailed({ cause: error }), 2) : error
}

function problemOf(cause: unknown): Problem {
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

// The provider's message helps the caller; it never contains the masked key or the raw reply.
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

function headersOf(error: unknown): Record<string, string> {
  return (error as ClientError | undefined)?.headers ?? {}
}
