/** `cause` is for the log and never leaves the process; `extra` is for the caller. */
export type ProblemOptions = {
  cause?: unknown
  extra?: Record<string, unknown>
  detail?: string
  headers?: Record<string, string>
}

type ProblemKind = { title?: string; headers?: Record<string, string> }

/** A failure the caller is told about. Anything else that is thrown is a bug and becomes a bare 500. */
export class Problem extends Error {
  readonly code: string
  readonly status: number
  readonly title: string | undefined
  readonly extra: Record<string, unknown>
  readonly headers: Record<string, string>

  constructor(code: string, status: number, detail: string, options: ProblemOptions & ProblemKind) {
    super(options.detail ?? detail, { cause: options.cause })
    this.name = 'Problem'
    this.code = code
    this.status = status
    this.title = options.title
    this.extra = options.extra ?? {}
    this.headers = options.headers ?? {}
  }
}

/** Declares one kind of problem. Call the result where it is thrown: `throw usernameTaken()`. */
export function defineProblem(code: string, status: number, detail: string, kind?: ProblemKind) {
  return (options: ProblemOptions = {}): Problem =>
    new Problem(code, status, detail, {
      ...options,
      title: kind?.title,
      headers: { ...kind?.headers, ...options.headers },
    })
}
