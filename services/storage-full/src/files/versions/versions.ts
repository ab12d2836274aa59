import type { Readable } from 'node:stream'
import type { Origin } from '@plinth/accounts'
import { inTransaction } from '@plinth/kit/database'
import { contentDisposition, type FileBody, type Representation } from '@plinth/kit/files'
import type { Caller } from '@plinth/kit/http'
import { storageUnavailable } from '../../locations/problems.ts'
import type { StorageProvider } from '../../locations/providers/provider.ts'
import { representationOf, spoolBytes } from '../bytes.ts'
import { insertPurgedEvent } from '../events.ts'
import { requireFile } from '../files.ts'
import { recordForOtherOwner } from '../other-owners.ts'
import {
  fileNotFound,
  noRoomToReplace,
  storedBytesMissing,
  versionIsCurrent,
  versionNotFound,
} from '../problems.ts'
import { objectKey, type Storage, type StoredFile } from '../storage.ts'
import { changeBytes } from '../usage/counted-files.repository.ts'
import { overQuota } from '../usage/usage.ts'
import { finishLeaving, finishVersion } from './removal.ts'
import { newContent, roomToReplace, storeContent } from './replace.ts'
import {
  findVersion,
  listFilesWithMore,
  listVersions,
  lockStored,
  markLeaving,
  type Version,
} from './versions.repository.ts'

/** The versions of a file, newest first. */
export async function versionsOf(storage: Storage, caller: Caller, id: number) {
  const file = await requireFile(storage, caller, id)
  const kept = file.version > 1 ? await listVersions(storage.db, { fileId: id, state: 'kept' }) : []
  const current = { ...file, createdAt: file.replacedAt ?? file.createdAt }
  // Replaced since the file was read, its content may be among the earlier versions already.
  const earlier = kept.filter(({ version }) => version < file.version).reverse()
  return [current, ...earlier].map(({ version, sizeBytes, checksumSha256, createdAt }) => ({
    version,
    size: sizeBytes,
    checksumSha256,
    createdAt,
    current: version === file.version,
  }))
}

/** A version as HTTP sees it: always to be saved. */
export async function representationOfVersion(
  storage: Storage,
  file: StoredFile,
  number: number,
): Promise<Representation> {
  if (number === file.version) return representationOf(storage, file, 'attachment')
  const version = await requireKept(storage, file, number)
  return {
    sizeBytes: version.sizeBytes,
    etag: `"${version.checksumSha256}"`,
    lastModified: new Date(version.createdAt),
    mediaType: version.contentType,
    disposition: contentDisposition('attachment', file.originalFilename),
    sha256: version.checksumSha256,
    open: (start, end) =>
      whereKept<FileBody>(storage, version, (provider, key) => provider.read(key, { start, end })),
  }
}

async function requireKept({ db }: Storage, { id }: StoredFile, number: number): Promise<Version> {
  const [version] = await listVersions(db, { fileId: id, version: number, state: 'kept' })
  if (!version) throw versionNotFound()
  return version
}

/** A move may have taken the object elsewhere since the row was read. */
async function whereKept<T>(
  storage: Storage,
  version: Version,
  open: (provider: StorageProvider, key: string) => Promise<T | undefined>,
): Promise<T> {
  const bytes = await open(storage.providers.at(version.location), objectKey(version))
  if (bytes) return bytes
  const current = await findVersion(storage.db, version.id)
  if (current?.state !== 'kept') throw versionNotFound()
  if (current.objectName === version.objectName)
    throw storedBytesMissing({ cause: new Error(`No object for version ${version.id}`) })
  return whereKept(storage, current, open)
}

type VersionRequest = { id: number; number: number; origin: Origin }

/** Stores a copy of an earlier version as the newest one; the earlier one stays. */
export async function restoreVersion(
  storage: Storage,
  caller: Caller,
  { id, number, origin }: VersionRequest,
): Promise<StoredFile> {
  const file = await requireFile(storage, caller, id)
  if (number === file.version) throw versionIsCurrent()
  const version = await requireKept(storage, file, number)
  const { quota } = storage.limits
  if ((await roomToReplace(storage, file, version.sizeBytes)) < version.sizeBytes)
    throw overQuota(quota, noRoomToReplace)
  await using copy = await copyOf(storage, version)
  const content = await newContent(storage, file, copy)
  const replacing = { id, caller, origin, ifMatch: undefined }
  // Awaited, because the copy is disposed of when this function returns.
  return await storeContent(storage, replacing, { ...content, contentType: file.contentType }, copy)
}

export function openVersion(storage: Storage, version: Version): Promise<Readable> {
  return whereKept(storage, version, (provider, key) => provider.open(key))
}

async function copyOf(storage: Storage, version: Version) {
  const bytes = await openVersion(storage, version)
  const copy = await spoolBytes(bytes, storage.spoolFolder, { sha256: true, crc32: true })
  if (copy.sha256 === version.checksumSha256) return copy
  await copy[Symbol.asyncDispose]()
  throw storageUnavailable({ cause: new Error(`The bytes of version ${version.id} are damaged`) })
}

/** A provider that is down is noticed before anything changes, as when a file is deleted. */
export async function deleteVersion(
  storage: Storage,
  caller: Caller,
  { id, number, origin }: VersionRequest,
): Promise<void> {
  const file = await requireFile(storage, caller, id)
  if (number === file.version) throw versionIsCurrent()
  const found = await requireKept(storage, file, number)
  await storage.providers.at(found.location).requireRemovable(objectKey(found))
  const version = await storage.withReserve(() =>
    inTransaction(storage.db, async (db) => {
      const inside = { ...storage, db }
      const locked = await lockStored(db, id)
      if (!locked) throw fileNotFound()
      const kept = await requireKept(inside, locked, number)
      const subject = `file ${id}, version ${number}`
      const done = { event: 'FILE_VERSION_DELETED', caller, origin, subject } as const
      await recordForOtherOwner(inside, done, locked)
      await dropVersions(inside, locked, [kept])
      return kept
    }),
  )
  await finishVersion(storage, version)
}

/** In the transaction that has locked the file. */
async function dropVersions(
  { db, clock, limits }: Storage,
  { id, ownerId }: StoredFile,
  versions: Version[],
): Promise<void> {
  const now = clock()
  await markLeaving(db, versions)
  for (const version of versions) await insertPurgedEvent(db, { ...version, id }, now)
  const bytes = versions.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  await changeBytes(db, ownerId, -bytes, limits.quota)
}

const FILES_AT_ONCE = 200

/** For a job: after the setting was lowered, versions beyond it go, the oldest first. */
export async function dropExcessVersions(storage: Storage, signal?: AbortSignal): Promise<void> {
  const { db: database, limits, withReserve } = storage
  for (;;) {
    const ids = await listFilesWithMore(database, limits.versions, FILES_AT_ONCE)
    for (const id of ids) {
      if (signal?.aborted) return
      await withReserve(() => inTransaction(database, (db) => dropExcessOf({ ...storage, db }, id)))
      await finishLeaving(storage, id)
    }
    if (ids.length < FILES_AT_ONCE) return
  }
}

async function dropExcessOf(storage: Storage, id: number): Promise<void> {
  const file = await lockStored(storage.db, id)
  if (!file) return
  const kept = await listVersions(storage.db, { fileId: id, state: 'kept' })
  const excess = kept.slice(0, Math.max(0, kept.length - storage.limits.versions))
  await dropVersions(storage, file, excess)
}

/** For jobs: removes the bytes of versions that have left, which a crash or an outage may have kept from it. */
export async function finishVersions(storage: Storage, signal?: AbortSignal): Promise<void> {
  let afterId = 0
  for (;;) {
    const filter = { state: 'deleting', afterId, limit: FILES_AT_ONCE } as const
    const versions = await listVersions(storage.db, filter)
    for (const version of versions) {
      if (signal?.aborted) return
      await finishVersion(storage, version).catch((error) =>
        storage.log.warn({ err: error, file: version.fileId }, 'a version could not be removed'),
      )
    }
    const last = versions.at(-1)
    if (!last) return
    afterId = last.id
  }
}
