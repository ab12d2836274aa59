/** A failure that a service answered with (RFC 9457). */
export class ProblemError extends Error {
  readonly status: number
  /** Stable and in upper case, for code to branch on; the message is for people. */
  readonly code: string
  /** `field: message` for each faulty field of a refused request. */
  readonly errors: string[]
  readonly requestId: string | undefined
  /** Seconds to wait before a retry, if the service says so. */
  readonly retryAfterSeconds: number | undefined
  readonly problem: Record<string, unknown>

  constructor(response: Response, problem: Record<string, unknown>) {
    super(String(problem.detail ?? problem.message ?? `The service answered ${response.status}`))
    this.name = 'ProblemError'
    this.status = response.status
    this.code = String(problem.code ?? `HTTP_${response.status}`)
    this.errors = Array.isArray(problem.errors) ? problem.errors.map(String) : []
    this.requestId = response.headers.get('x-request-id') ?? undefined
    const wait = Number(response.headers.get('retry-after') ?? Number.NaN)
    this.retryAfterSeconds = Number.isFinite(wait) ? wait : undefined
    this.problem = problem
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
