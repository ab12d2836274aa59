import {
  type Caller,
  failPoint,
  type PageRequest,
  requireFileType,
  type Upload,
  type UploadLimits,
} from '@plinth/kit'
import { requireActiveLocation } from '../locations/locations.ts'
import {
  countFiles,
  deleteFileRow,
  findFile,
  insertFile,
  listFiles,
  markDeleting,
} from './files.repository.ts'
import { fileNotFound, fileOfAnotherUser } from './problems.ts'
import {
  type NewFile,
  newObjectName,
  objectKey,
  type Storage,
  type StoredFile,
  thumbnailKey,
} from './storage.ts'

export const ADMIN_ROLE = 'ROLE_ADMIN'

const MULTIPART_FRAME_BYTES = 64 * 1024

export function uploadLimits({ spoolFolder, limits }: Storage): UploadLimits {
  const { maxFileBytes } = limits
  return {
    folder: spoolFolder,
    maxFileBytes,
    maxRequestBytes: maxFileBytes + MULTIPART_FRAME_BYTES,
    sha256: true,
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
  const { type, extension } = await requireFileType(upload, storage.limits.acceptedTypes)
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
    location: await requireActiveLocation(storage.db),
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

const ROWS_AT_ONCE = 500

/** One's own files; an administrator sees everybody's. */
function ownerSeenBy(caller: Caller): string | undefined {
  return caller.roles.includes(ADMIN_ROLE) ? undefined : caller.userId
}

/** Every file, newest first, a few hundred at a time so that a long list costs little memory. */
export async function* allFiles({ db }: Storage, caller: Caller): AsyncGenerator<StoredFile[]> {
  const ownerId = ownerSeenBy(caller)
  let beforeId: number | undefined
  while (true) {
    const files = await listFiles(db, { ownerId, beforeId, limit: ROWS_AT_ONCE })
    yield files
    if (files.length < ROWS_AT_ONCE) return
    beforeId = files.at(-1)?.id
  }
}

export async function pageOfFiles({ db }: Storage, caller: Caller, page: PageRequest) {
  const ownerId = ownerSeenBy(caller)
  const files = await listFiles(db, { ownerId, offset: page.offset, limit: page.size })
  return { files, total: await countFiles(db, ownerId) }
}

/** What callers are told of a file: nothing of disk paths, buckets or keys. */
export function describeFile(file: StoredFile) {
  return {
    id: file.id,
    originalFilename: file.originalFilename,
    storedFilename: file.storedFilename,
    extension: file.extension,
    contentType: file.contentType,
    size: file.sizeBytes,
    checksumSha256: file.checksumSha256,
    owner: file.ownerName,
    ownerId: ownerIdOf(file.ownerId),
    provider: file.location.provider,
    createdAt: file.createdAt,
  }
}

/** Accounts of this service have numbers; users of a trusted issuer are named with it. */
function ownerIdOf(ownerId: string): number | string {
  return /^\d+$/.test(ownerId) ? Number(ownerId) : ownerId
}
