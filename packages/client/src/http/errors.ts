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
    const wait = Number(headers.get('retry-after') ?? Number.NaN)
    this.retryAfterSeconds = Number.isFinite(wait) ? wait : undefined
    this.problem = problem
  }
}

/** There was no answer: the service is unreachable, or the connection broke. */
export class ConnectionError extends Error {
  constructor(cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`No answer from the service: ${reason}`, { cause })
    this.name = 'ConnectionError'
  }
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
  try {
    return new ProblemError(response, JSON.parse(text) as Record<string, unknown>)
  } catch {
    return new ProblemError(response, { detail: text || undefined })
  }
}

export function isUnauthorized(error: unknown): boolean {
  return error instanceof ProblemError && error.status === 401
}
