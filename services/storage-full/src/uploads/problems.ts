import { orNull, Type } from '@plinth/kit/http'
import { defineProblem } from '@plinth/kit/problems'

/** Also for an upload of somebody else: its id says nothing about whether it exists. */
export const uploadNotFound = defineProblem(
  'UPLOAD_NOT_FOUND',
  404,
  'There is no upload with this id: it was never created, has expired, or was cancelled.',
  { title: 'Upload not found' },
)

export const offsetMismatch = defineProblem(
  'OFFSET_MISMATCH',
  409,
  'The upload continues at another offset: ask for it with HEAD, and go on from there.',
  { sends: ['upload-offset'] },
)

export const uploadLocked = defineProblem(
  'UPLOAD_LOCKED',
  423,
  'Another request has this upload at the moment. Try again.',
  { headers: { 'retry-after': '1' } },
)

export const uploadWaiting = defineProblem(
  'UPLOAD_WAITING',
  423,
  'All bytes have arrived, but no file can be made of them at the moment. Nothing need be sent again: try again later.',
  { headers: { 'retry-after': '30' } },
)

export const tooManyUploads = defineProblem(
  'TOO_MANY_UPLOADS',
  429,
  'You have too many unfinished uploads. Finish or cancel some of them.',
  { headers: { 'retry-after': '60' }, members: { maxUploads: Type.Integer() } },
)

const checksums = {
  title: 'Checksum mismatch',
  members: { expected: orNull(Type.String()), actual: orNull(Type.String()) },
}

/** The status is that of the tus protocol. */
export const chunkChecksumMismatch = defineProblem(
  'CHECKSUM_MISMATCH',
  460,
  'The body is not the one that the checksum belongs to. Nothing of it was kept: send it again.',
  { title: checksums.title },
)

export const fileChecksumMismatch = defineProblem(
  chunkChecksumMismatch.code,
  400,
  'The file does not have the SHA-256 that was given at its creation. The upload has ended.',
  checksums,
)

export const tusVersionUnknown = defineProblem(
  'TUS_VERSION_UNSUPPORTED',
  412,
  'Send "Tus-Resumable: 1.0.0": this service speaks tus 1.0.0 and no other version or draft.',
  { title: 'Precondition failed', headers: { 'tus-version': '1.0.0' } },
)
