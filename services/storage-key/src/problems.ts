import { defineProblem } from '@plinth/kit'

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

export const fileMissing = defineProblem('FILE_NOT_FOUND', 404, 'There is no such file.')

export const notAFile = defineProblem(
  'NOT_A_FILE',
  400,
  'Only regular files can be deleted; this is a link or a folder.',
)
