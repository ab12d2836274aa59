import { randomBytes } from 'node:crypto'
import { type FileType, requireClaimedType, uploadTooLarge } from '@plinth/kit/files'
import type { Caller, Result } from '@plinth/kit/http'
import { failPoint, secondsAfter } from '@plinth/kit/runtime'
import { nameOf } from '../files/files.ts'
import { requireRoomForFolder } from '../files/folders/placing.ts'
import { newObjectName, objectKey, type Storage, type StoredFile } from '../files/storage.ts'
import { overQuota } from '../files/usage/usage.ts'
import { requireReplaceable, requireSameType } from '../files/versions/replace.ts'
import type { PartialObject } from '../locations/providers/partial.ts'
import { createHolds, type Holds } from './holds.ts'
import { tooManyUploads, uploadNotFound } from './problems.ts'
import { type RunningHashes, runningHashes } from './running-hashes.ts'
import {
  deleteUpload,
  findUpload,
  insertUpload,
  listUploads,
  markEnded,
  type Upload,
} from './uploads.repository.ts'

export type { Upload } from './uploads.repository.ts'

type Settings = {
  /** How many unfinished uploads one owner may have. */
  perOwner: number
  /** How long an upload is remembered after its last byte. */
  expiresSeconds: number
}

/** What is counted about uploads of more than one request. Those of one request are counted by their reply. */
type UploadCounts = {
  bytes(stored: number): void
  result(result: Result): void
}

/** What the rules about uploads need. They know no protocol: tus is one face, and there may be another. */
export type Uploads = {
  storage: Storage
  settings: Settings
  holds: Holds
  hashes: RunningHashes
  counts: UploadCounts
}

export function openUploads(storage: Storage, settings: Settings, counts: UploadCounts): Uploads {
  return { storage, settings, holds: createHolds(storage), hashes: runningHashes(), counts }
}

/** What a client says about a file before its bytes arrive. */
export type AnnouncedFile = {
  filename: string
  /** Empty when the client declared none. */
  declaredType: string
  length: number
  sha256: string | null
  /** The path of the folder it goes into. */
  folder: string
  /** As sent, to be shown again. */
  metadata: string
  /** The file whose content it replaces. */
  replaces: number | null
  /** What that file must satisfy, now and at the end. */
  ifMatch: string | null
}

/** 128 bits and more cannot be guessed. */
const ID_BYTES = 16
const ID = /^[0-9a-f]{32}$/

/** Begins an upload at the active location. Nothing arrives before there is room for all of it, and for its folder. */
export async function createUpload(
  { storage, settings }: Uploads,
  caller: Caller,
  announced: AnnouncedFile,
): Promise<Upload> {
  const { db, clock, limits, active } = storage
  const { userId, username } = caller
  if (announced.length > limits.maxFileBytes) throw uploadTooLarge()
  storage.scanning.requireScannable(announced.length)
  const { type, extension } = requireClaimedType(announced, limits.acceptedTypes)
  const replaced = await requireReplaced(storage, caller, { ...announced, type })
  if (!replaced) await requireRoomForFolder(storage, { ...announced, ownerId: userId })
  const now = clock()
  const upload = {
    ...announced,
    quotaOwnerId: replaced && replaced.ownerId !== userId ? replaced.ownerId : null,
    id: randomBytes(ID_BYTES).toString('hex'),
    ownerId: userId,
    ownerName: username,
    filename: nameOf(announced.filename),
    declaredType: announced.declaredType || type.mediaType,
    location: await active.find(),
    objectName: newObjectName(extension.slice(1)),
    createdAt: now.toISOString(),
    expiresAt: secondsAfter(now, settings.expiresSeconds).toISOString(),
  }
  const { quota } = limits
  const outcome = await insertUpload(db, upload, { quota, mostUploads: settings.perOwner })
  if (outcome === 'over quota') throw overQuota(quota)
  if (outcome === 'too many') throw tooManyUploads({ extra: { maxUploads: settings.perOwner } })
  failPoint('uploads:created')
  return requireUpload(storage, { userId }, upload.id)
}

/** The file whose content an upload replaces. */
async function requireReplaced(
  storage: Storage,
  caller: Caller,
  { replaces, ifMatch, type }: Pick<AnnouncedFile, 'replaces' | 'ifMatch'> & { type: FileType },
): Promise<StoredFile | undefined> {
  if (replaces === null) return undefined
  const replacing = { id: replaces, caller, ifMatch: ifMatch ?? undefined }
  const file = await requireReplaceable(storage, replacing)
  requireSameType(file, type.mediaType)
  return file
}

/** An upload belongs to its creator alone: not even an administrator sees it here. */
export async function requireUpload(
  { db, clock }: Pick<Storage, 'db' | 'clock'>,
  { userId }: Pick<Caller, 'userId'>,
  id: string,
): Promise<Upload> {
  const upload = ID.test(id) ? await findUpload(db, id) : undefined
  const isThere =
    upload?.ownerId === userId &&
    upload.state !== 'ended' &&
    (upload.isHeld || upload.expiresAt > clock().toISOString())
  if (!isThere) throw uploadNotFound()
  return upload
}

/** The unfinished uploads of the caller, newest first. */
export async function unfinishedUploads(
  { db, clock }: Storage,
  { userId }: Caller,
  limit: number,
): Promise<Upload[]> {
  const uploads = await listUploads(db, { ownerId: userId, state: 'receiving', limit })
  const now = clock().toISOString()
  return uploads.filter(({ isHeld, expiresAt }) => isHeld || expiresAt > now)
}

/** Ends an upload. If it has become a file already, the file stays. */
export async function cancelUpload(uploads: Uploads, caller: Caller, id: string): Promise<void> {
  const { storage, holds } = uploads
  await requireUpload(storage, caller, id)
  const ended = await holds.withHold(id, async (upload) => {
    await endUpload(uploads, upload)
    return true
  })
  if (!ended) await deleteUpload(storage.db, id)
}

/** Gives back what the upload has reserved, and removes its bytes. A store that is down is tried again by a job. */
export async function endUpload({ storage, hashes }: Uploads, upload: Upload): Promise<void> {
  const { db, log, withReserve } = storage
  hashes.forget(upload.id)
  if (!(await withReserve(() => markEnded(db, upload.id, { fence: upload.fence })))) return
  failPoint('uploads:ended')
  await removeBytes(storage, upload).catch((error) =>
    log.warn({ err: error, upload: upload.id }, 'an ended upload could not be removed yet'),
  )
}

/** Of an upload that has ended: its bytes, then its row. */
export async function removeBytes(storage: Storage, upload: Upload): Promise<void> {
  const provider = storage.providers.at(upload.location)
  const key = objectKey(upload)
  // In this order: a request that still completes the object finds its bytes gone, or its object is removed.
  await provider.partial.discard(key)
  await provider.remove(key)
  failPoint('uploads:removed')
  await storage.withReserve(() => deleteUpload(storage.db, upload.id))
}

/** The upload as its provider sees it. */
export function partialOf(upload: Upload): PartialObject {
  const { declaredType, length, offset, multipartId, tail } = upload
  const contentType = declaredType.split(';')[0] ?? declaredType
  return { key: objectKey(upload), contentType, sizeBytes: length, offset, multipartId, tail }
}
