import { Type } from '../http/schema.ts'
import { defineProblem } from '../problems.ts'

export const uploadMalformed = defineProblem(
  'MALFORMED_UPLOAD',
  400,
  'Send the file as multipart/form-data with one part named "file".',
)

export const uploadTooLarge = defineProblem(
  'FILE_TOO_LARGE',
  413,
  'The file or the request is larger than this service accepts.',
)

export const uploadTooSlow = defineProblem(
  'UPLOAD_TOO_SLOW',
  408,
  'The upload was too slow and was cut off.',
  { headers: { connection: 'close' } },
)

export const uploadAborted = defineProblem(
  'UPLOAD_ABORTED',
  400,
  'The client disconnected before the upload was complete.',
)

export const fileEmpty = defineProblem('EMPTY_FILE', 400, 'The file is empty.')

export const fileTypeUnsupported = defineProblem(
  'UNSUPPORTED_FILE_TYPE',
  400,
  'Files with this extension are not accepted.',
  { members: { extension: Type.String(), accepted: Type.Array(Type.String()) } },
)

const Claim = Type.Union([Type.String(), Type.Null()])

export const fileTypeMismatch = defineProblem(
  'FILE_TYPE_MISMATCH',
  400,
  'The extension, the declared type and the content do not agree.',
  { members: { claims: Type.Object({ extension: Claim, declaredType: Claim, content: Claim }) } },
)

export const preconditionFailed = defineProblem(
  'PRECONDITION_FAILED',
  412,
  'The file is not the version that the request asks for.',
  { sends: ['etag'] },
)

export const rangeUnsatisfiable = defineProblem(
  'RANGE_NOT_SATISFIABLE',
  416,
  'The file has no such range: Content-Range says how long it is.',
  { sends: ['etag', 'content-range'] },
)

/** The problems that a download may be refused with. */
export const DOWNLOAD_PROBLEMS = [preconditionFailed, rangeUnsatisfiable]

/** The problems that an upload may be refused with. */
export const UPLOAD_PROBLEMS = [
  uploadMalformed,
  uploadTooLarge,
  uploadTooSlow,
  uploadAborted,
  fileEmpty,
  fileTypeUnsupported,
  fileTypeMismatch,
]
