/** `cause` is for the log and never leaves the process; `extra` is for the caller. */
export type ProblemOptions = {
  cause?: unknown
  extra?: Record<string, unknown>
  detail?: string
  headers?: Record<string, string>
}

type ProblemKind = {
  title?: string
  headers?: Record<string, string>
  /** Names of the headers that are supplied where the problem is thrown. */
  sends?: string[]
  /** JSON Schemas of the members that `extra` may have. */
  members?: Record<string, object>
  page?: ProblemPage
}

/** Shown by a browser that opens the address; programs get the problem document, unless `always` is set. */
export type ProblemPage = PageTexts & { always?: boolean; translations?: Record<string, PageTexts> }

type PageTexts = { title: string; text: string }

/** A failure that is reported to the caller. Anything else that is thrown is a bug and becomes a 500. */
export class Problem extends Error {
  readonly code: string
  readonly status: number
  readonly title: string | undefined
  readonly page: ProblemKind['page']
  readonly extra: Record<string, unknown>
  readonly headers: Record<string, string>

  constructor(code: string, status: number, detail: string, options: ProblemOptions & ProblemKind) {
    super(options.detail ?? detail, { cause: options.cause })
    this.name = 'Problem'
    this.code = code
    this.status = status
    this.title = options.title
    this.page = options.page
    this.extra = options.extra ?? {}
    this.headers = options.headers ?? {}
  }
}

/** One kind of problem: calling it creates the error to throw, `is` recognises that error when caught. */
export type DefinedProblem = {
  (options?: ProblemOptions): Problem
  readonly code: string
  readonly status: number
  readonly detail: string
  readonly kind: ProblemKind
  is(error: unknown): error is Problem
}

/** Declares one kind of problem: `throw usernameTaken()`, `if (usernameTaken.is(error))`. */
export function defineProblem(
  code: string,
  status: number,
  detail: string,
  kind: ProblemKind = {},
): DefinedProblem {
  const create = (options: ProblemOptions = {}): Problem =>
    new Problem(code, status, detail, {
      ...options,
      title: kind.title,
      page: kind.page,
      headers: { ...kind.headers, ...options.headers },
    })
  const is = (error: unknown): error is Problem => error instanceof Problem && error.code === code
  return Object.assign(create, { code, status, detail, kind, is })
}

export const invalidRequest = defineProblem(
  'VALIDATION_ERROR',
  400,
  'The request has values that are not acceptable.',
  {
    title: 'Validation failed',
    members: { errors: { type: 'array', items: { type: 'string' } } },
  },
)

/** Reports every invalid field at once, each as `field: message`. */
export const validationFailed = (errors: string[]): Problem => invalidRequest({ extra: { errors } })

export const malformedBody = defineProblem(
  'MALFORMED_BODY',
  400,
  'The body is absent or is not well-formed JSON.',
  { title: 'Invalid request' },
)

export const malformedRequest = defineProblem(
  'MALFORMED_REQUEST',
  400,
  'The request could not be understood.',
  { title: 'Invalid request' },
)

export const hostAmbiguous = defineProblem(
  'AMBIGUOUS_HOST',
  400,
  'The request has more than one Host header.',
  { title: 'Invalid request' },
)

export const hostMissing = defineProblem('MISSING_HOST', 400, 'The request has no Host header.', {
  title: 'Invalid request',
})

export const misdirected = defineProblem(
  'MISDIRECTED_REQUEST',
  421,
  'This service does not answer under that host name. An operator can allow it in the settings.',
)

export const callerUnknown = defineProblem(
  'AUTHENTICATION_REQUIRED',
  401,
  'This needs an access token: send it as "Authorization: Bearer <token>".',
  { headers: { 'www-authenticate': 'Bearer' } },
)

export const accessTokenRejected = defineProblem(
  'INVALID_ACCESS_TOKEN',
  401,
  'The access token is invalid or has expired.',
  { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } },
)

export const accessDenied = defineProblem('ACCESS_DENIED', 403, 'You may not do this.')

export const reauthenticationRequired = defineProblem(
  'REAUTHENTICATION_REQUIRED',
  403,
  'Your sign-in is too long ago for this. Sign in again, then repeat this.',
)

export const notFound = defineProblem('NOT_FOUND', 404, 'There is nothing here.', {
  title: 'Resource not found',
})

export const methodNotAllowed = defineProblem(
  'METHOD_NOT_ALLOWED',
  405,
  'This path does not support that method.',
)

export const bodyTooSlow = defineProblem(
  'REQUEST_TIMEOUT',
  408,
  'The body took too long to arrive.',
  { headers: { connection: 'close' } },
)

export const bodyTooLarge = defineProblem(
  'BODY_TOO_LARGE',
  413,
  'The body is larger than this endpoint accepts.',
)

export const mediaTypeUnsupported = defineProblem(
  'UNSUPPORTED_MEDIA_TYPE',
  415,
  'Send the body as "Content-Type: application/json".',
)

export const encodingUnsupported = defineProblem(
  'UNSUPPORTED_MEDIA_TYPE',
  415,
  'Send the body as is, without a Content-Encoding.',
  { headers: { 'accept-encoding': 'identity' } },
)

export const tooManyUnfinished = defineProblem(
  'TOO_MANY_UNFINISHED_REQUESTS',
  503,
  'Too many requests are still being sent. Please try again.',
  { headers: { 'retry-after': '5', connection: 'close' } },
)

/** The token may be valid, so this is not a 401: the caller is asked to try again. */
export const issuerUnavailable = defineProblem(
  'ISSUER_UNAVAILABLE',
  503,
  'The issuer of this token cannot be reached, so the token cannot be checked.',
  { headers: { 'retry-after': '5' } },
)

export const databaseUnavailable = defineProblem(
  'DATABASE_UNAVAILABLE',
  503,
  'The database cannot be used at the moment. Please try again.',
  { headers: { 'retry-after': '5' } },
)

export const storageFull = defineProblem(
  'STORAGE_FULL',
  507,
  'There is no room left to store this. Reading and deleting still work.',
)

export const storageReadOnly = defineProblem(
  'STORAGE_READ_ONLY',
  503,
  'The disk or the database is read-only at the moment: nothing can be stored. Reading still works.',
  { headers: { 'retry-after': '5' } },
)

/** Whether a file system call failed because the disk or the quota is full. */
export function isDiskFull(error: unknown): boolean {
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** Whether a file system call failed because the disk is read-only, as the kernel makes one that fails. */
export function isDiskReadOnly(error: unknown): boolean {
  return ((error ?? {}) as NodeJS.ErrnoException).code === 'EROFS'
}

export const tooManyOpenFiles = defineProblem(
  'TOO_MANY_OPEN_FILES',
  503,
  'The service has reached its limit of open files. Please try again.',
  { headers: { 'retry-after': '5' } },
)

/** Whether a file could not be opened because the process or the machine has too many open. */
export function isOutOfDescriptors(error: unknown): boolean {
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  return code === 'EMFILE' || code === 'ENFILE'
}

export const internalFailure = defineProblem(
  'INTERNAL_ERROR',
  500,
  'Something went wrong on our side. The request id finds it in the log.',
)

/** Says why nothing was started, in a message that needs no stack trace. */
export class StartError extends Error {}
