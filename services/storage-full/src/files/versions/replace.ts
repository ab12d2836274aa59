import type { Origin } from '@plinth/accounts'
import { databaseFault, inTransaction } from '@plinth/kit/database'
import {
  FILE_TYPES,
  failedPrecondition,
  fileTypeMismatch,
  preconditionFailed,
  type Upload,
} from '@plinth/kit/files'
import type { Caller } from '@plinth/kit/http'
import { failPoint } from '@plinth/kit/runtime'
import { requireAcceptable } from '../content.ts'
import { insertPurgedEvent, insertReplacedEvent } from '../events.ts'
import { requireFile, requireOwner } from '../files.ts'
import { recordForOtherOwner } from '../other-owners.ts'
import { fileNotFound, noRoomToReplace, quotaExceeded } from '../problems.ts'
import {
  type Content,
  newObjectName,
  objectKey,
  type Storage,
  type StoredFile,
  withLimitsOfNow,
} from '../storage.ts'
import { changeBytes } from '../usage/counted-files.repository.ts'
import { overQuota, requireRoomToReplace } from '../usage/usage.ts'
import { finishLeaving, removeDrawn } from './removal.ts'
import {
  insertVersion,
  listVersions,
  lockStored,
  markLeaving,
  updateContent,
  type Version,
} from './versions.repository.ts'

/** Who replaces what. */
export type Replacing = {
  id: number
  caller: Caller
  origin: Origin
  /** The `If-Match` that the file must satisfy when its content is replaced. */
  ifMatch: string | undefined
}

/** 412 comes last, because an entity tag says something about a file that not everyone may see. */
export async function requireReplaceable(
  storage: Storage,
  { id, caller, ifMatch }: Pick<Replacing, 'id' | 'caller' | 'ifMatch'>,
): Promise<StoredFile> {
  const file = await requireFile(storage, caller, id)
  requireMatch(file, ifMatch)
  return file
}

function requireMatch({ checksumSha256 }: StoredFile, ifMatch: string | undefined): void {
  const etag = `"${checksumSha256}"`
  const failed = failedPrecondition({ 'if-match': ifMatch }, { etag, lastModified: undefined })
  if (failed === 412) throw preconditionFailed({ headers: { etag } })
}

/** Name, thumbnail and links promise the type that the file has. */
export function requireSameType({ contentType }: StoredFile, mediaType: string): void {
  if (mediaType === contentType) return
  const name = FILE_TYPES.find((type) => type.mediaType === mediaType)?.name ?? null
  const claims = { extension: name, declaredType: name, content: name }
  const detail = `The file is ${contentType}, and its new content must be, too: this is ${mediaType}.`
  throw fileTypeMismatch({ detail, extra: { claims } })
}

/** How many bytes the new content may have: the quota is that of the owner. */
export async function roomToReplace(
  live: Storage,
  file: StoredFile,
  bodyBytes: number,
): Promise<number> {
  const storage = withLimitsOfNow(live)
  const leaving = await leavingOf(storage, file)
  const freed = freedBytes(storage, file, leaving)
  return requireRoomToReplace(storage, file.ownerId, { bodyBytes, freed })
}

/**
 * Stores an upload as the new content of a file. As for a new file, the object comes first, under a name of its own,
 * and one transaction makes it visible. It is removed again when it certainly has not become visible.
 */
export async function replaceFile(
  storage: Storage,
  replacing: Replacing,
  upload: Upload,
  startedAt: Date,
): Promise<StoredFile> {
  const file = await requireReplaceable(storage, replacing)
  const { type } = await requireAcceptable(storage, upload)
  requireSameType(file, type.mediaType)
  const content = await newContent(storage, file, upload)
  return storeContent(storage, replacing, { ...content, contentType: file.contentType }, upload, {
    before: () => requireOwner(storage, { ownerId: replacing.caller.userId }, startedAt),
  })
}

type Received = Pick<Upload, 'sizeBytes' | 'sha256' | 'crc32'>

export async function newContent(
  storage: Storage,
  { extension }: Pick<StoredFile, 'extension'>,
  { sizeBytes, sha256 = '', crc32 }: Received,
): Promise<Content> {
  const location = await storage.active.find()
  const objectName = newObjectName(extension)
  return { location, objectName, sizeBytes, checksumSha256: sha256, crc32: crc32 ?? null }
}

type Bytes = Parameters<ReturnType<Storage['providers']['at']>['put']>[1]['content']

/** Puts the object, then makes it the content of the file. */
export async function storeContent(
  storage: Storage,
  replacing: Replacing,
  content: Content & { contentType: string },
  bytes: Bytes,
  { before }: { before?: () => Promise<void> } = {},
): Promise<StoredFile> {
  const provider = storage.providers.at(content.location)
  await provider.put(objectKey(content), { ...content, content: bytes })
  failPoint('replace:put')
  // The sweeper removes what could not be removed here.
  const removeObject = () => provider.remove(objectKey(content)).catch(() => {})
  await before?.().catch(async (error) => {
    await removeObject()
    throw error
  })
  const switching = inTransaction(storage.db, (db) =>
    switchContent({ ...storage, db }, replacing, content, { isCounted: false }),
  )
  const switched = await switching.catch(async (error) => {
    if (isCertainlyUnchanged(error)) await removeObject()
    throw error
  })
  failPoint('replace:row')
  await tidyAfter(storage, switched)
  return switched.file
}

const REFUSALS = [fileNotFound, preconditionFailed, quotaExceeded]

/** After any other failure the transaction may have been committed: its reply may be lost. */
function isCertainlyUnchanged(error: unknown): boolean {
  return databaseFault(error) === 'full' || REFUSALS.some((refusal) => refusal.is(error))
}

/** The file as it is now, and the object that it had before, which may have become an earlier version. */
type Switched = { file: StoredFile; before: StoredFile; isKept: boolean }

/**
 * Makes an object the content of a file, in the open transaction: the old content becomes an earlier version or is
 * marked for removal, and the totals of the owner follow. `isCounted`: the new content has been counted already.
 */
export async function switchContent(
  live: Storage,
  { id, caller, origin, ifMatch }: Replacing,
  content: Content,
  { isCounted }: { isCounted: boolean },
): Promise<Switched> {
  const storage = withLimitsOfNow(live)
  const { db, clock, limits } = storage
  const isKept = limits.versions > 0
  const now = clock()
  const before = await lockStored(db, id)
  if (!before) throw fileNotFound()
  requireMatch(before, ifMatch)
  const leaving = await leavingOf(storage, before)
  const file = await updateContent(db, before, content, now)
  await insertVersion(db, before, isKept ? 'kept' : 'deleting')
  await markLeaving(db, leaving)
  await insertReplacedEvent(db, file, now)
  for (const version of leaving)
    await insertPurgedEvent(db, { ...version, id, ownerId: file.ownerId }, now)
  await recordForOtherOwner(storage, { event: 'FILE_REPLACED', caller, origin }, file)
  const added = (isCounted ? 0 : content.sizeBytes) - freedBytes(storage, before, leaving)
  if (!(await changeBytes(db, file.ownerId, added, limits.quota)))
    throw overQuota(limits.quota, noRoomToReplace)
  return { file, before, isKept }
}

/** After the commit. What fails now is left to jobs. */
export async function tidyAfter(
  storage: Storage,
  { file, before, isKept }: Switched,
): Promise<void> {
  await finishLeaving(storage, file.id)
  if (!isKept) return
  await removeDrawn(storage, before).catch((error) =>
    storage.log.warn({ err: error, file: file.id }, 'a thumbnail of old content was not removed'),
  )
}

/** The kept versions that leave when the content of the file becomes one of them, the oldest first. */
async function leavingOf({ db, limits }: Storage, { id, version }: StoredFile): Promise<Version[]> {
  if (version === 1) return []
  const kept = await listVersions(db, { fileId: id, state: 'kept' })
  const room = Math.max(0, limits.versions - 1)
  return kept.slice(0, Math.max(0, kept.length - room))
}

function freedBytes({ limits }: Storage, file: StoredFile, leaving: Version[]): number {
  const own = limits.versions > 0 ? 0 : file.sizeBytes
  return leaving.reduce((sum, { sizeBytes }) => sum + sizeBytes, own)
}
