import { dirname } from 'node:path'
import { isLeaseHeld } from '@plinth/kit/database'
import { sweepOldSpools } from '@plinth/kit/files'
import { secondsAfter } from '@plinth/kit/runtime'
import { finishDeletion } from '../files/deletions/deletions.ts'
import { trashKeeper } from '../files/deletions/trash.ts'
import { type FileFilter, findObjectNames, listFilesAfter } from '../files/files.repository.ts'
import {
  besideNameOf,
  HELD_FOR_BACKUP,
  HOLD_SECONDS,
  objectNameOf,
  type Storage,
  type StoredFile,
} from '../files/storage.ts'
import { listKeptAfter, type Version } from '../files/versions/versions.repository.ts'
import { dropExcessVersions, finishVersions } from '../files/versions/versions.ts'
import { listLocations } from '../locations/locations.ts'
import { isStoreRefusal } from '../locations/problems.ts'
import type { Location } from '../locations/providers/provider.ts'
import { sweepUploads } from '../uploads/expire.ts'
import { findUploadNames } from '../uploads/uploads.repository.ts'
import { deleteExpiredZipTokens } from '../zip/zip.repository.ts'
import { findRunningMove } from './moves.repository.ts'
import {
  deleteExpiredLinks,
  deleteOrphans,
  findOverdueOrphans,
  insertOrphans,
} from './sweep.repository.ts'

const FILES_AT_ONCE = 200
const KEYS_AT_ONCE = 500

/** Finishes the deletions that can no longer be undone, or that a crash or an unreachable provider interrupted. */
export async function finishDeletions(
  storage: Storage,
  signal?: AbortSignal,
  keepTrash = trashKeeper(),
): Promise<void> {
  await keepTrash(storage).catch((error) =>
    storage.log.warn({ err: error }, 'expired restorable files could not be marked for deletion'),
  )
  for await (const file of everyFile(storage, { state: 'deleting' })) {
    if (signal?.aborted) return
    try {
      await finishDeletion(storage, file)
    } catch (error) {
      storage.log.warn({ err: error, file: file.id }, 'a deletion could not be finished yet')
    }
  }
  await finishVersions(storage, signal)
}

/** The earlier versions that must be kept. */
export async function* everyVersion({ db }: Storage): AsyncGenerator<Version> {
  let afterId = 0
  while (true) {
    const versions = await listKeptAfter(db, { afterId, limit: FILES_AT_ONCE })
    yield* versions
    const last = versions.at(-1)
    if (!last) return
    afterId = last.id
  }
}

/** Reads page by page, each starting after the last file of the previous one, even if that file is gone. */
export async function* everyFile({ db }: Storage, filter: FileFilter): AsyncGenerator<StoredFile> {
  let afterId = 0
  while (true) {
    const files = await listFilesAfter(db, { ...filter, afterId, limit: FILES_AT_ONCE })
    yield* files
    const last = files.at(-1)
    if (!last) return
    afterId = last.id
  }
}

/** `left`: orphaned objects that the store refused to remove. The next sweep tries again. */
type Swept = { removed: number; left: number }

/** Removes expired links, old spools, leftovers of uploads, versions beyond the setting, and orphaned objects. */
export async function sweep(storage: Storage, signal?: AbortSignal): Promise<Swept> {
  await deleteExpiredLinks(storage.db, storage.clock())
  await deleteExpiredZipTokens(storage.db, storage.clock())
  // Every machine that shares the root has a spool folder beside ours.
  await sweepOldSpools(dirname(storage.spoolFolder))
  await sweepUploads(storage, signal)
  await dropExcessVersions(storage, signal)
  const swept = { removed: 0, left: 0 }
  for (const location of await listLocations(storage.db)) {
    if (signal?.aborted) break
    const { removed, refused } = await sweepLocation(storage, location, signal)
    const [first] = refused
    if (first)
      storage.log.warn(
        { err: first.error, location: location.id, key: first.key, left: refused.length },
        'objects without a file could not be removed',
      )
    swept.removed += removed
    swept.left += refused.length
  }
  return swept
}

/** `refused`: the objects that could not be removed. */
type SweptLocation = { removed: number; refused: { key: string; error: unknown }[] }

async function sweepLocation(
  storage: Storage,
  location: Location,
  signal?: AbortSignal,
): Promise<SweptLocation> {
  const swept: SweptLocation = { removed: 0, refused: [] }
  try {
    for await (const keys of keysAt(storage, location))
      for (const key of await overdueOrphans(storage, location, keys)) {
        if (signal?.aborted) return swept
        await removeOrphan(storage, location, key).then(
          () => {
            swept.removed += 1
          },
          (error) => {
            if (!isStoreRefusal(error)) throw error
            swept.refused.push({ key, error })
          },
        )
      }
  } catch (error) {
    storage.log.warn({ err: error, location: location.id }, 'a location could not be swept')
  }
  return swept
}

async function removeOrphan(
  { db, providers }: Storage,
  location: Location,
  key: string,
): Promise<void> {
  await providers.at(location).remove(key)
  await deleteOrphans(db, location.id, [key])
}

/**
 * Those of `keys` that may be removed. An object may have no file because its upload is in flight. It is
 * removed only after it was seen without a file twice, a safe time apart by our own clock, whatever the clock of
 * the store says. While a backup is reading none is removed: a file moved since the backup began is still at its
 * old place in the database of the backup. Nor is any at the target of a running move, which may take hours
 * to read back the copy of a large file.
 */
async function overdueOrphans(
  storage: Storage,
  location: Location,
  keys: string[],
): Promise<string[]> {
  const { db, clock, limits } = storage
  const now = clock()
  // Queried before the files: a move that has ended by now gets no more of them.
  const isTarget = (await findRunningMove(db))?.targetLocationId === location.id
  const orphans = new Set(await withoutFile(storage, location, keys))
  const adopted = keys.filter((key) => !orphans.has(key))
  await deleteOrphans(db, location.id, adopted)
  // Queried before this sighting is recorded: one is never enough, however short the safe time.
  const before = secondsAfter(now, -limits.orphanAgeSeconds)
  const overdue = await findOverdueOrphans(db, location.id, [...orphans], before)
  await insertOrphans(db, location.id, [...orphans], now)
  if (isTarget || overdue.length === 0 || (await isLeaseHeld(db, HELD_FOR_BACKUP, HOLD_SECONDS)))
    return []
  return overdue
}

export async function* keysAt(
  { providers }: Storage,
  location: Location,
): AsyncGenerator<string[]> {
  let keys: string[] = []
  for await (const key of providers.at(location).list(location.prefix)) {
    keys.push(key)
    if (keys.length < KEYS_AT_ONCE) continue
    yield keys
    keys = []
  }
  yield keys
}

/**
 * Those of `keys` whose objects have no file, or are beside one without being recorded. Not those of an upload that is
 * about to become a file.
 */
export async function withoutFile(
  { db, beside }: Pick<Storage, 'db' | 'beside'>,
  location: Location,
  keys: string[],
): Promise<string[]> {
  const names = [...new Set(keys.map(objectNameOf))]
  // Uploads first: one that becomes a file in between is then among the files.
  const arriving = await findUploadNames(db, location.id, names)
  const known = await findObjectNames(db, location.id, names)
  const recorded = await beside.findRecorded(keys.flatMap((key) => besideNameOf(key) ?? []))
  const isRecorded = (name: string | undefined) => name === undefined || recorded.has(name)
  return keys.filter((key) => {
    const name = objectNameOf(key)
    return (!known.has(name) && !arriving.has(name)) || !isRecorded(besideNameOf(key))
  })
}
