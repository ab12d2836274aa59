/** A failure that a service answered with (RFC 9457; RFC 6749 below /oauth2). */
export class ProblemError extends Error {
  readonly status: number
  /** Stable, for code to branch on; the message is for people. */
  readonly code: string
  /** `field: message` for each invalid field of a refused request. */
  readonly errors: string[]
  readonly requestId: string | undefined
  /** Seconds to wait before a retry, if the service says so. */
  readonly retryAfterSeconds: number | undefined
  readonly problem: Record<string, unknown>

  constructor(
    { status, headers }: Pick<Response, 'status' | 'headers'>,
    problem: Record<string, unknown>,
  ) {
    const { detail, message, error_description } = problem
    super(String(detail ?? error_description ?? message ?? `The service answered ${status}`))
    this.name = 'ProblemError'
    this.status = status
    const { code = error_description && problem.error } = problem
    this.code = String(code ?? `HTTP_${status}`)
    this.errors = Array.isArray(problem.errors) ? problem.errors.map(String) : []
    this.requestId = headers.get('x-request-id') ?? undefined
    this.retryAfterSeconds = secondsToWait(headers)
    this.problem = problem
  }
}

/**
 * A problem of a service whose codes are known. An answer without a code, such as that of a proxy, gets one from its
 * status.
 */
export type Answered<Code extends string, Details> = ProblemError & {
  readonly code: Code | 'SIGNED_OUT' | `HTTP_${number}`
  readonly problem: Details
}

/** RFC 9110, section 10.2.3: seconds, or a date, which is compared with the clock of the server that sent it. */
function secondsToWait(headers: Headers): number | undefined {
  const retryAfter = headers.get('retry-after') ?? ''
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter)
  const wait = (Date.parse(retryAfter) - Date.parse(headers.get('date') ?? '')) / 1000
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

/** There was no answer: the service is unreachable, or the connection broke. */
export class ConnectionError extends Error {
  constructor(cause: unknown) {
    super(`No answer from the service: ${reasonIn(cause)}`, { cause })
    this.name = 'ConnectionError'
  }
}

/**
 * In Node the error says only "fetch failed", and its cause says why. For a name with several addresses
 * that is an AggregateError, which has a code but no message.
 */
function reasonIn(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, code } = (error.cause ?? {}) as { message?: string; code?: string }
  return message || code || error.message
}

/** There was no answer in time. The service may still have processed the request. */
export class TimeoutError extends Error {
  constructor(message = 'The service did not answer in time') {
    super(message)
    this.name = 'TimeoutError'
  }
}

export async function problemOf(response: Response): Promise<ProblemError> {
  const text = await response.text()
  // The error page of a proxy is no message for people.
  if (/^text\/html/i.test(response.headers.get('content-type') ?? ''))
    return new ProblemError(response, {})
  try {
    return new ProblemError(response, JSON.parse(text) as Record<string, unknown>)
  } catch {
    return new ProblemError(response, { detail: text || undefined })
  }
}

export function isUnauthorized(error: unknown): boolean {
  return error instanceof ProblemError && error.status === 401
}
