import { DOWNLOAD_PROBLEMS } from '@plinth/kit/files'
import { orNull, Type } from '@plinth/kit/http'
import { defineProblem } from '@plinth/kit/problems'
import { storageUnavailable } from '../locations/problems.ts'

export const storedBytesMissing = defineProblem(
  'STORED_BYTES_MISSING',
  503,
  'The storage answers, but no longer has the bytes of this file.',
  { title: 'Storage unavailable' },
)

const quotaKind = {
  title: 'Quota exceeded',
  members: { maxFiles: orNull(Type.Integer()), maxBytes: orNull(Type.Integer()) },
}

export const quotaExceeded = defineProblem(
  'QUOTA_EXCEEDED',
  413,
  'You have stored as much as you may. Delete files to make room, or store smaller ones.',
  quotaKind,
)

/** Does not say "you", because the caller may be an administrator. */
export const noRoomToRestore = defineProblem(
  quotaExceeded.code,
  413,
  'The quota of the owner has no room for this file. It can be restored when other files of the owner are deleted.',
  quotaKind,
)

/** Folders take no room of the quota, but without a limit one owner could make a move of them take seconds. */
export const tooManyFolders = defineProblem(
  quotaExceeded.code,
  413,
  'The owner has as many folders as an owner may have. Delete some of them.',
  quotaKind,
)

/** Folders have no setting, so no number of the quota is to blame. */
export const overFolders = () => tooManyFolders({ extra: { maxFiles: null, maxBytes: null } })

export const noRoomToReplace = defineProblem(
  quotaExceeded.code,
  413,
  'The quota of the owner has no room for this version. Nothing has changed.',
  quotaKind,
)

/** Never bytes of one version with the length or the checksum of another. */
export const contentReplaced = defineProblem(
  'FILE_REPLACED',
  503,
  'The content of this file is being replaced again and again. Try again.',
  { title: 'File replaced', headers: { 'retry-after': '1' } },
)

/** The problems of reading the bytes of a file. */
export const READ_PROBLEMS = [
  storageUnavailable,
  storedBytesMissing,
  contentReplaced,
  ...DOWNLOAD_PROBLEMS,
]

export const fileNotFound = defineProblem('FILE_NOT_FOUND', 404, 'There is no file with this id.', {
  title: 'File not found',
})

export const versionNotFound = defineProblem(
  'VERSION_NOT_FOUND',
  404,
  'The file has no such version.',
  { title: 'Version not found' },
)

export const versionIsCurrent = defineProblem(
  'VERSION_IS_CURRENT',
  409,
  'This is the current version of the file.',
  { title: 'Current version' },
)

export const nothingToRestore = defineProblem(
  fileNotFound.code,
  404,
  'This file cannot be restored any more: it is restored already, or removed for good.',
  fileNotFound.kind,
)

export const folderNotFound = defineProblem(
  'FOLDER_NOT_FOUND',
  404,
  'You have no folder with this path.',
  { title: 'Folder not found' },
)

export const folderExists = defineProblem(
  'FOLDER_EXISTS',
  409,
  'There is a folder with this path already.',
  { title: 'Folder exists' },
)

export const folderNotEmpty = defineProblem(
  'FOLDER_NOT_EMPTY',
  409,
  'The folder has files or folders in it. With recursive=true they are deleted as well.',
  { title: 'Folder not empty' },
)

export const fileOfAnotherUser = defineProblem(
  'ACCESS_DENIED',
  403,
  'The file belongs to another user.',
)

// The same reply for a forged, an expired and a revoked token and for a deleted file, so that guessing
// tokens reveals nothing.
export const linkNotFound = defineProblem(
  'LINK_NOT_FOUND',
  404,
  'The link does not exist or has expired.',
  { title: 'Link not found' },
)

/** For its recipient, who may be somebody with a browser. */
export const openedLinkNotFound = defineProblem(linkNotFound.code, 404, linkNotFound.detail, {
  ...linkNotFound.kind,
  page: {
    title: 'This link no longer works',
    text: 'It has expired, was withdrawn, or is not complete. Ask the person who sent it for a new one.',
    translations: {
      de: {
        title: 'Dieser Link funktioniert nicht mehr',
        text: 'Er ist abgelaufen, wurde zurückgezogen oder ist unvollständig. Bitte um einen neuen.',
      },
      es: {
        title: 'Este enlace ya no funciona',
        text: 'Ha caducado, se ha retirado o está incompleto. Pide uno nuevo a quien te lo envió.',
      },
    },
  },
})
