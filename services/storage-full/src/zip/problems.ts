import { Type } from '@plinth/kit/http'
import { defineProblem } from '@plinth/kit/problems'

/** The same for a forged, an expired and a revoked token, so that guessing reveals nothing. */
export const zipNotFound = defineProblem(
  'ZIP_NOT_FOUND',
  404,
  'The archive does not exist or has expired.',
  {
    title: 'Archive not found',
    page: {
      title: 'This download no longer works',
      text: 'It has expired or was withdrawn. Ask for a new one.',
    },
  },
)

export const zipsBusy = defineProblem(
  'TOO_MANY_DOWNLOADS',
  503,
  'Too many large archives are being downloaded. Try again in a moment.',
  { title: 'Too many downloads', headers: { 'retry-after': '5' } },
)

export const zipTooLarge = defineProblem(
  'ZIP_TOO_LARGE',
  413,
  'An archive cannot have so many files. Choose fewer of them.',
  { title: 'Archive too large', members: { maxFiles: Type.Integer() } },
)

export const tooManyZips = defineProblem(
  'TOO_MANY_ZIPS',
  429,
  'You have prepared too many archives. Revoke some of them, or wait until they expire.',
  { title: 'Too many archives', headers: { 'retry-after': '60' } },
)
