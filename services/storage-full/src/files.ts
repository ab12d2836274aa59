import {
  type Caller,
  failPoint,
  requireFileType,
  type Upload,
  type UploadLimits,
} from '@plinth/kit'
import { deleteFileRow, findFile, insertFile, markDeleting } from './files.repository.ts'
import { fileNotFound, fileOfAnotherUser } from './problems.ts'
import { requireActiveLocation } from './provider-settings.ts'
import type { Storage } from './storage.ts'
import {
  type NewFile,
  newObjectName,
  objectKey,
  type StoredFile,
  thumbnailKey,
} from './stored-file.ts'

export const ADMIN_ROLE = 'ROLE_ADMIN'

const MULTIPART_FRAME_BYTES = 64 * 1024

/** How an upload is received that the provider active now will probably keep. */
export async function uploadLimits(storage: Storage): Promise<UploadLimits> {
  const { maxFileBytes } = storage.limits
  const { provider } = await requireActiveLocation(storage)
  return {
    folder: storage.spoolFolder,
    maxFileBytes,
    maxRequestBytes: maxFileBytes + MULTIPART_FRAME_BYTES,
    sha256: true,
    passedOn: provider !== 'LOCAL',
  }
}

/**
 * Stores an upload at the active provider, and only there. The row comes last: a failure before it
 * leaves at most an object that nobody can see, which the sweeper removes. It is not removed here,
 * because a commit whose answer was lost may have made the row after all.
 */
export async function storeFile(
  storage: Storage,
  caller: Caller,
  upload: Upload,
): Promise<StoredFile> {
  const file = await describeUpload(storage, caller, upload)
  failPoint('store:checked')
  await storage.providers.at(file.location).put(objectKey(file), { ...file, content: upload })
  failPoint('store:put')
  const stored = await insertFile(storage.db, file)
  failPoint('store:row')
  return stored
}

async function describeUpload(storage: Storage, caller: Caller, upload: Upload): Promise<NewFile> {
  const { filename, sizeBytes, sha256 = '' } = upload
  const { type, extension } = await requireFileType(upload, {
    accepted: storage.limits.acceptedTypes,
    whole: storage.limits.wholeFiles,
  })
  const objectName = newObjectName(extension.slice(1))
  return {
    ownerId: caller.userId,
    ownerName: caller.username,
    originalFilename: filename.split(/[/\\]/).at(-1) ?? '',
    storedFilename: objectName,
    objectName,
    extension: extension.slice(1),
    contentType: type.mediaType,
    sizeBytes,
    checksumSha256: sha256,
    createdAt: storage.clock().toISOString(),
    location: await requireActiveLocation(storage),
  }
}

/** The file, if it is there and the caller may see it: 404 comes before 403. */
export async function requireFile(
  storage: Pick<Storage, 'db'>,
  caller: Caller,
  id: number,
): Promise<StoredFile> {
  const file = await findFile(storage.db, id)
  if (file?.state !== 'stored') throw fileNotFound()
  if (file.ownerId !== caller.userId && !caller.roles.includes(ADMIN_ROLE))
    throw fileOfAnotherUser()
  return file
}

/**
 * Deletes a file in steps that can be taken up again: mark the row, remove the bytes, remove the
 * row. A provider that is down is noticed before the first step, so that nothing has changed.
 */
export async function deleteFile(storage: Storage, caller: Caller, id: number): Promise<void> {
  const file = await requireFile(storage, caller, id)
  await storage.providers.at(file.location).sizeOf(objectKey(file))
  const marked = await markDeleting(storage.db, id)
  failPoint('delete:marked')
  if (!marked) throw fileNotFound()
  await finishDeletion(storage, marked)
}

/** Also for files that a crash, or a provider that went down in between, left marked. */
export async function finishDeletion(
  { db, providers }: Pick<Storage, 'db' | 'providers'>,
  file: StoredFile,
): Promise<void> {
  const provider = providers.at(file.location)
  await provider.remove(objectKey(file))
  failPoint('delete:object')
  await provider.remove(thumbnailKey(file))
  failPoint('delete:thumbnail')
  await deleteFileRow(db, file.id)
}
