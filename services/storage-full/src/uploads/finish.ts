import type { Readable } from 'node:stream'
import type { Origin } from '@plinth/accounts'
import { inTransaction } from '@plinth/kit/database'
import { type FileBytes, fileTypeMismatch, preconditionFailed } from '@plinth/kit/files'
import type { Caller } from '@plinth/kit/http'
import { failPoint, secondsAfter } from '@plinth/kit/runtime'
import { requireAcceptable } from '../files/content.ts'
import { uploadEvent } from '../files/events.ts'
import { newFile, requireOwner } from '../files/files.ts'
import { withAncestors } from '../files/folders/paths.ts'
import { fileNotFound, fileOfAnotherUser, overFolders, tooManyFolders } from '../files/problems.ts'
import { type NewFile, objectKey } from '../files/storage.ts'
import { sumsOf } from '../files/sums.ts'
import {
  requireReplaceable,
  requireSameType,
  switchContent,
  tidyAfter,
} from '../files/versions/replace.ts'
import { storageUnavailable } from '../locations/problems.ts'
import type { ByteRange, StorageProvider } from '../locations/providers/provider.ts'
import { fileInfected, scannerUnavailable, tooLargeToScan } from '../scanning/problems.ts'
import { fileChecksumMismatch, uploadLocked } from './problems.ts'
import { insertFinished, listParts, markFinished } from './uploads.repository.ts'
import { endUpload, partialOf, type Upload, type Uploads } from './uploads.ts'

/** What no other attempt could change, so that the upload ends. */
export const REFUSALS = [
  ...[fileTypeMismatch, fileChecksumMismatch, fileInfected, tooLargeToScan],
  // Of the file that is replaced.
  ...[fileNotFound, fileOfAnotherUser, preconditionFailed],
]

/** What passes: all bytes are there, and a later attempt makes the file. */
export const PASSING = [scannerUnavailable, storageUnavailable, tooManyFolders]

/** The request in which the last byte arrived, or one that finds all bytes there. */
type Finishing = { startedAt: Date; caller: Caller; origin: Origin }

/**
 * Makes a file of an upload whose bytes are all there. Every step may be repeated: after a crash the next request
 * for the upload begins again. The row is inserted last, in the transaction that ends the upload.
 */
export async function finishUpload(
  uploads: Uploads,
  upload: Upload,
  { startedAt, ...by }: Finishing,
): Promise<void> {
  const { storage, settings, hashes, counts } = uploads
  const { db, clock } = storage
  const provider = storage.providers.at(upload.location)
  await provider.partial.complete(partialOf(upload), await listParts(db, upload.id))
  failPoint('uploads:completed')
  const file = await describe(uploads, upload, provider).catch(async (error) => {
    if (REFUSALS.some((refusal) => refusal.is(error))) await endUpload(uploads, upload)
    throw error
  })
  await requireOwner(storage, upload, startedAt)
  const expiresAt = secondsAfter(clock(), settings.expiresSeconds).toISOString()
  if (upload.replaces !== null) await replace(uploads, upload, { ...by, file, expiresAt })
  else {
    const event = uploadEvent(file)
    const paths = withAncestors(upload.folder)
    const fileId = await insertFinished(db, upload, {
      ...{ file, paths, event, expiresAt },
      tooMany: overFolders,
    })
    if (fileId === undefined) throw uploadLocked()
  }
  hashes.forget(upload.id)
  counts.bytes(upload.length)
  counts.result('accepted')
  failPoint('uploads:finished')
}

type ReplacingUpload = Omit<Finishing, 'startedAt'> & { file: NewFile; expiresAt: string }

/** The file may have been deleted or replaced since the upload began, and its creator may have lost a role. */
async function replace(uploads: Uploads, upload: Upload, by: ReplacingUpload): Promise<void> {
  const { storage } = uploads
  const { caller, origin, file, expiresAt } = by
  const fileId = upload.replaces ?? 0
  const replacing = { id: fileId, caller, origin, ifMatch: upload.ifMatch ?? undefined }
  try {
    const replaced = await requireReplaceable(storage, replacing)
    requireSameType(replaced, file.contentType)
    const switched = await inTransaction(storage.db, async (db) => {
      if (!(await markFinished(db, upload, { fileId, expiresAt }))) throw uploadLocked()
      return switchContent({ ...storage, db }, replacing, file, { isCounted: true })
    })
    failPoint('uploads:replaced')
    await tidyAfter(storage, switched)
  } catch (error) {
    if (REFUSALS.some((refusal) => refusal.is(error))) await endUpload(uploads, upload)
    throw error
  }
}

/** The same rules as for a file that arrives in one request. */
async function describe({ storage, hashes }: Uploads, upload: Upload, provider: StorageProvider) {
  const key = objectKey(upload)
  const known = upload.wasSeized ? undefined : hashes.digest(upload.id, upload.length)
  const { sha256, crc32 } = known ?? (await sumsOf(await openAt(provider, key)))
  if (upload.sha256 !== null && upload.sha256 !== sha256)
    throw fileChecksumMismatch({ extra: { expected: upload.sha256, actual: sha256 } })
  const bytes = bytesAt(provider, key, upload.length)
  const read = () => openAt(provider, key)
  const typed = await requireAcceptable(storage, { ...upload, bytes, read })
  const file = newFile(storage, { ...upload, ...typed, sizeBytes: upload.length, sha256, crc32 })
  return { ...file, folder: upload.folder }
}

async function openAt(
  provider: StorageProvider,
  key: string,
  range?: ByteRange,
): Promise<Readable> {
  const bytes = await provider.open(key, range)
  if (!bytes) throw storageUnavailable({ cause: new Error('The bytes of an upload are gone') })
  return bytes
}

/** Most rules read only a little of both ends: of fifty files that arrive together, a megabyte each is too much. */
const FIRST_WINDOW_BYTES = 64 * 1024
const MAX_WINDOW_BYTES = 1024 * 1024

/** Reads ahead, the further the longer it goes on: the rules for text read the whole file in small steps. */
function bytesAt(provider: StorageProvider, key: string, sizeBytes: number): FileBytes {
  let window = { start: 0, bytes: Buffer.alloc(0) }
  let ahead = FIRST_WINDOW_BYTES
  const load = async (start: number, length: number) => {
    const known = window.start + window.bytes.length
    const goesOn = known > 0 && start >= window.start && start <= known
    ahead = goesOn ? Math.min(4 * ahead, MAX_WINDOW_BYTES) : FIRST_WINDOW_BYTES
    const end = Math.min(start + Math.max(length, ahead), sizeBytes) - 1
    const stream = await openAt(provider, key, { start, end })
    window = { start, bytes: Buffer.concat(await stream.toArray()) }
  }
  return {
    sizeBytes,
    async read(start, length) {
      const from = Math.max(0, start)
      const end = Math.max(from, Math.min(start + length, sizeBytes))
      if (end === from) return Buffer.alloc(0)
      const isLoaded = from >= window.start && end <= window.start + window.bytes.length
      if (!isLoaded) await load(from, end - from)
      return window.bytes.subarray(from - window.start, end - window.start)
    },
  }
}
