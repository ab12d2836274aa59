import { Type, timestamp } from '@plinth/kit/http'
import { type DefinedProblem, defineProblem, type Problem } from '@plinth/kit/problems'
import { http } from '@plinth/kit/runtime'

export const keyRejected = defineProblem('UNAUTHORIZED', 401, 'Unauthorized', {
  headers: { 'www-authenticate': 'ApiKey' },
})

export const nameInvalid = defineProblem('INVALID_NAME', 400, 'This is not a valid file name.')

export const nameAbsolute = defineProblem('INVALID_NAME', 400, 'Absolute names are not accepted.')

export const nameNested = defineProblem('INVALID_NAME', 400, 'A file name has one part only.')

export const nameClimbs = defineProblem(
  'PATH_TRAVERSAL',
  403,
  'The name leads out of the storage folder.',
)

export const NAME_PROBLEMS = [nameInvalid, nameAbsolute, nameNested, nameClimbs]

export const fileMissing = defineProblem('FILE_NOT_FOUND', 404, 'There is no such file.')

export const notAFile = defineProblem(
  'NOT_A_FILE',
  400,
  'Only regular files can be deleted; this is a link or a folder.',
)

/** The reason that the health check gives. */
export const folderUnusable = defineProblem(
  'STORAGE_UNAVAILABLE',
  503,
  'The storage folder is missing or cannot be written.',
)

type ErrorFields = { status: number; message: string; path: string }

/** This edition has an error body of its own; a 401 is plain text, as the specification says. */
export function renderError(problem: Problem, where: { path: string; at: Date }) {
  const { status, message, extra } = problem
  if (status === 401) return { type: 'text/plain; charset=utf-8', body: 'Unauthorized' }
  return errorBody({ status, message, path: where.path, ...extra }, where.at)
}

const ErrorReply = {
  timestamp: timestamp(),
  status: Type.Integer({ minimum: 400, maximum: 599 }),
  error: Type.String({ description: 'The name of the status' }),
  message: Type.String(),
  path: Type.String({ examples: ['/file/list'] }),
}

/** The schema of these bodies, for the API document. */
export function describeErrors(problems: DefinedProblem[]) {
  if (problems[0]?.status === 401) return { 'text/plain': { schema: { const: 'Unauthorized' } } }
  const members = problems.flatMap(({ kind }) => Object.entries(kind.members ?? {}))
  const extra = members.map(([name, schema]) => [name, Type.Optional(schema)])
  const schema = Type.Object({ ...ErrorReply, ...Object.fromEntries(extra) })
  return { 'application/json': { schema } }
}

/** A request that is not valid HTTP has no path. */
export function renderBrokenRequest(status: number, message: string, at: Date) {
  return errorBody({ status, message, path: '' }, at)
}

function errorBody({ status, ...rest }: ErrorFields, at: Date) {
  const body = { timestamp: at.toISOString(), status, error: http.STATUS_CODES[status], ...rest }
  return { type: 'application/json', body: JSON.stringify(body) }
}
