import { ADMIN_ROLE } from '@plinth/accounts'
import { databaseFault, type PageRequest } from '@plinth/kit/database'
import type { FileType, Upload, UploadLimits } from '@plinth/kit/files'
import { type Caller, Type, timestamp } from '@plinth/kit/http'
import { accessTokenRejected } from '@plinth/kit/problems'
import { failPoint, isRecent } from '@plinth/kit/runtime'
import { ProviderField } from '../locations/locations.ts'
import { requireAcceptable } from './content.ts'
import { uploadEvent } from './events.ts'
import {
  findFile,
  findIdAfter,
  isEnabledUser,
  type ListQuery,
  listFiles,
  listInFolder,
  weighListed,
} from './files.repository.ts'
import { ROOT } from './folders/paths.ts'
import { intoFolder } from './folders/placing.ts'
import { foldedName, foundBy } from './names.ts'
import { fileNotFound, fileOfAnotherUser, quotaExceeded } from './problems.ts'
import {
  isForeign,
  type NewFile,
  newObjectName,
  objectKey,
  type Storage,
  type StoredFile,
  shownOwnerId,
} from './storage.ts'
import { insertFile } from './usage/counted-files.repository.ts'
import { countFiles } from './usage/usage.repository.ts'
import { overQuota } from './usage/usage.ts'

export const MULTIPART_FRAME_BYTES = 64 * 1024
const ROWS_AT_ONCE = 500
/** A file may have 80 KB of metadata, which takes several times as much memory on its way into a reply. */
const BYTES_AT_ONCE = 1024 * 1024
/** Shorter uploads end while the erasure of a user still waits for the last requests of that user. */
const UNCHECKED_SECONDS = 60

/** `room` is what the quota leaves the caller. */
export function uploadLimits({ spoolFolder, limits }: Storage, room: number): UploadLimits {
  const maxFileBytes = Math.min(limits.maxFileBytes, room)
  const maxRequestBytes = maxFileBytes + MULTIPART_FRAME_BYTES
  return { folder: spoolFolder, maxFileBytes, maxRequestBytes, sha256: true, crc32: true }
}

/**
 * Stores an upload at the active provider, and only there. The row is inserted last: a failure before
 * that leaves at most an object without a file, which the sweeper removes. It is not removed here,
 * because a commit whose reply was lost may have inserted the row after all. It is removed when there is
 * certainly no row: after a full database, an exceeded quota, or an upload whose owner was disabled or erased.
 */
export async function storeFile(
  storage: Storage,
  caller: Caller,
  upload: Upload,
  { startedAt, folder }: { startedAt: Date; folder: string },
): Promise<StoredFile> {
  const file = { ...(await describeUpload(storage, caller, upload)), folder }
  failPoint('store:checked')
  const provider = storage.providers.at(file.location)
  await provider.put(objectKey(file), { ...file, content: upload })
  failPoint('store:put')
  const removeObject = () => provider.remove(objectKey(file)).catch(() => {})
  await requireOwner(storage, file, startedAt).catch(async (error) => {
    await removeObject()
    throw error
  })
  const stored = await insertIntoFolder(storage, file).catch(async (error) => {
    if (databaseFault(error) === 'full' || quotaExceeded.is(error)) await removeObject()
    throw error
  })
  failPoint('store:row')
  return stored
}

/** The caller was identified before the body arrived, which may have taken hours. */
export async function requireOwner(
  storage: Storage,
  file: Pick<NewFile, 'ownerId'>,
  startedAt: Date,
): Promise<void> {
  if (isRecent(startedAt, UNCHECKED_SECONDS, storage.clock())) return
  if (!(await isOwnerEnabled(storage, file))) throw accessTokenRejected()
}

export function isOwnerEnabled(
  storage: Storage,
  { ownerId }: Pick<StoredFile, 'ownerId'>,
): Promise<boolean> {
  return isForeign(ownerId)
    ? storage.isEnabledElsewhere(ownerId)
    : isEnabledUser(storage.db, Number(ownerId))
}

function insertIntoFolder(storage: Storage, file: NewFile): Promise<StoredFile> {
  return intoFolder(storage, file, (db, folderId) =>
    insertWithinQuota({ ...storage, db }, { ...file, folderId }),
  )
}

/** If concurrent uploads exceed the quota together, the last ones are refused. */
async function insertWithinQuota({ db, limits }: Storage, file: NewFile): Promise<StoredFile> {
  const { quota } = limits
  const stored = await insertFile(db, file, { quota, event: uploadEvent(file) })
  if (!stored) throw overQuota(quota)
  return stored
}

async function describeUpload(storage: Storage, caller: Caller, upload: Upload): Promise<NewFile> {
  const typed = await requireAcceptable(storage, upload)
  const address = {
    objectName: newObjectName(typed.extension.slice(1)),
    location: await storage.active.find(),
  }
  const owner = { ownerId: caller.userId, ownerName: caller.username }
  return newFile(storage, { ...upload, ...typed, ...owner, ...address })
}

type Received = Pick<NewFile, 'ownerId' | 'ownerName' | 'location' | 'objectName' | 'sizeBytes'> & {
  filename: string
  /** With its dot. */
  extension: string
  type: FileType
  sha256?: string | undefined
  crc32?: number | undefined
}

/** The row of a file whose content is there and has passed the rules. */
export function newFile({ clock }: Storage, received: Received): NewFile {
  const { ownerId, ownerName, location, objectName, sizeBytes } = received
  const name = nameOf(received.filename)
  return {
    ...{ ownerId, ownerName, location, objectName, sizeBytes },
    originalFilename: name,
    foldedName: foldedName(name),
    words: foundBy(name, []),
    storedFilename: objectName,
    extension: received.extension.slice(1),
    contentType: received.type.mediaType,
    checksumSha256: received.sha256 ?? '',
    crc32: received.crc32 ?? null,
    createdAt: clock().toISOString(),
    folderId: null,
    folder: ROOT,
  }
}

/** The last part of a path, whichever system wrote it. */
export function nameOf(filename: string): string {
  return filename.split(/[/\\]/).at(-1) ?? ''
}

/** The file, if it exists and the caller may see it. 404 takes precedence over 403. */
export async function requireFile(
  { db }: Storage,
  caller: Caller,
  id: number,
): Promise<StoredFile> {
  const file = await findFile(db, id)
  if (file?.state !== 'stored') throw fileNotFound()
  if (file.ownerId !== caller.userId && !caller.roles.includes(ADMIN_ROLE))
    throw fileOfAnotherUser()
  return file
}

/** The owner whose files the caller gets; undefined, for administrators, means those of all owners. */
export function ownerSeenBy(caller: Caller, asked?: string): string | undefined {
  if (caller.roles.includes(ADMIN_ROLE)) return asked
  if (asked !== undefined && asked !== caller.userId) throw fileOfAnotherUser()
  return caller.userId
}

/** Every file, newest first. */
export function allFiles(storage: Storage, ownerId: string | undefined) {
  return filesFrom(storage, { ownerId, newestId: Number.MAX_SAFE_INTEGER })
}

export async function pageOfFiles(
  storage: Storage,
  ownerId: string | undefined,
  { offset, size }: PageRequest,
) {
  const newestId = (await findIdAfter(storage.db, ownerId, offset)) ?? 0
  const files = filesFrom(storage, { ownerId, newestId, limit: size })
  return { files, total: await countFiles(storage.db, ownerId) }
}

/** Newest first, some at a time so that a long list costs little memory. */
async function* filesFrom(
  { db }: Storage,
  { limit = Number.POSITIVE_INFINITY, ...list }: Omit<ListQuery, 'limit'> & { limit?: number },
): AsyncGenerator<StoredFile[]> {
  let { newestId } = list
  for (let left = limit; left > 0; ) {
    const next = { ...list, newestId, limit: Math.min(left, ROWS_AT_ONCE) }
    const weights = await weighListed(db, next)
    if (weights.length === 0) return
    const files = await listFiles(db, { ...next, limit: countWithin(BYTES_AT_ONCE, weights) })
    yield files
    const last = files.at(-1)
    if (!last) return
    newestId = last.id - 1
    left -= files.length
  }
}

/** As many at a time as their weight allows. */
export function* lightBatches<P extends { weight: number }>(places: P[]): Generator<P[]> {
  for (let rest = places; rest.length > 0; ) {
    const next = rest.slice(0, ROWS_AT_ONCE)
    const weights = next.map(({ weight }) => weight)
    const batch = next.slice(0, countWithin(BYTES_AT_ONCE, weights))
    yield batch
    rest = rest.slice(batch.length)
  }
}

/** How many of these, in order, are together no heavier than `most`; at least one. */
export function countWithin(most: number, weights: number[]): number {
  let sum = 0
  const first = weights.findIndex((weight, index) => {
    sum += weight
    return sum > most && index > 0
  })
  return first === -1 ? weights.length : first
}

/** For operators, who get few at a time. */
export async function listedPage(storage: Storage, ownerId: string | undefined, page: PageRequest) {
  const { files, total } = await pageOfFiles(storage, ownerId, page)
  return { files: (await Array.fromAsync(files)).flat(), total }
}

/** For operators: the files directly in a folder, newest first; without an owner those of every owner who has it. */
export async function pageInFolder(
  { db }: Storage,
  { ownerId, folder }: { ownerId: string | undefined; folder: string },
  page: PageRequest,
) {
  return listInFolder(db, { ownerId, path: folder === ROOT ? null : folder }, page)
}

export const FileReply = Type.Object(
  {
    id: Type.Integer(),
    originalFilename: Type.String({ examples: ['holiday.png'] }),
    storedFilename: Type.String({ examples: ['0b9d6d2e-6a1b-4a52-9c39-5c1f0e8b7a61.png'] }),
    extension: Type.String({ examples: ['png'] }),
    contentType: Type.String({ examples: ['image/png'] }),
    size: Type.Integer({ minimum: 0, description: 'Bytes' }),
    checksumSha256: Type.String({ description: 'Lower-case hex' }),
    owner: Type.String({ examples: ['ada'] }),
    ownerId: Type.Union([Type.Integer(), Type.String()], {
      description:
        'A number; for a user of the trusted issuer it is prefixed with the issuer, for a service key with `key-`',
    }),
    provider: ProviderField,
    createdAt: timestamp(),
    updatedAt: timestamp(),
    folder: Type.String({ examples: ['/holidays/2026'] }),
    tags: Type.Array(Type.String({ examples: ['beach'] })),
    metadata: Type.Record(Type.String(), Type.String(), { examples: [{ camera: 'X100' }] }),
    version: Type.Integer({ minimum: 1, description: 'Replacing the content adds 1' }),
  },
  { title: 'StoredFile' },
)

/** What a client sees of a file: no disk path, bucket or key. */
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
    ownerId: shownOwnerId(file.ownerId),
    provider: file.location.provider,
    createdAt: file.createdAt,
    updatedAt: file.updatedAt,
    folder: file.folder,
    tags: file.tags,
    metadata: file.metadata,
    version: file.version,
  }
}
