import { dirname } from 'node:path'
import { secondsAfter, sweepOldSpools } from '@plinth/kit'
import { findObjectNames, listDeletingFiles } from '../files/files.repository.ts'
import { finishDeletion } from '../files/files.ts'
import { objectNameOf, type Storage, type StoredFile } from '../files/storage.ts'
import { listLocations } from '../locations/locations.ts'
import type { Location } from '../locations/providers/provider.ts'
import {
  deleteExpiredLinks,
  deleteOrphans,
  findOverdueOrphans,
  insertOrphans,
} from './sweep.repository.ts'

const KEYS_AT_ONCE = 500

/** Finishes the deletions that a crash or an unreachable provider interrupted. */
export async function finishDeletions(storage: Storage, signal?: AbortSignal): Promise<void> {
  for await (const file of everyFile((query) => listDeletingFiles(storage.db, query))) {
    if (signal?.aborted) return
    try {
      await finishDeletion(storage, file)
    } catch (error) {
      storage.log.warn({ err: error, file: file.id }, 'a deletion could not be finished yet')
    }
  }
}

/** Removes what nothing refers to any more. Returns how many objects that were. */
export async function sweep(storage: Storage, signal?: AbortSignal): Promise<number> {
  await deleteExpiredLinks(storage.db, storage.clock())
  // Every machine that shares the root has a folder beside ours.
  await sweepOldSpools(dirname(storage.spoolFolder))
  let removed = 0
  for (const location of await listLocations(storage.db)) {
    if (signal?.aborted) break
    try {
      removed += await sweepLocation(storage, location, signal)
    } catch (error) {
      storage.log.warn({ err: error, location: location.id }, 'a location could not be swept')
    }
  }
  return removed
}

async function sweepLocation(
  storage: Storage,
  location: Location,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0
  for await (const keys of keysAt(storage, location)) {
    if (signal?.aborted) break
    removed += await sweepKeys(storage, location, keys, signal)
  }
  return removed
}

/**
 * An object may be without a file because its upload is not finished. It is removed only when it
 * was seen so twice, a safe time apart by our own clock: the store's clock plays no part.
 */
async function sweepKeys(
  { db, clock, providers, limits }: Storage,
  location: Location,
  keys: string[],
  signal?: AbortSignal,
): Promise<number> {
  const now = clock()
  const orphans = await withoutFile(db, location, keys)
  await deleteOrphans(
    db,
    location.id,
    keys.filter((key) => !orphans.includes(key)),
  )
  const before = secondsAfter(now, -limits.orphanAgeSeconds)
  // Before this sighting is noted: however short the time, one is never enough.
  const overdue = await findOverdueOrphans(db, location.id, orphans, before)
  await insertOrphans(db, location.id, orphans, now)
  let removed = 0
  for (const key of overdue) {
    if (signal?.aborted) break
    await providers.at(location).remove(key)
    await deleteOrphans(db, location.id, [key])
    removed += 1
  }
  return removed
}

/** Of these objects, the ones no file refers to. */
export async function withoutFile(
  db: Storage['db'],
  location: Location,
  keys: string[],
): Promise<string[]> {
  const names = [...new Set(keys.map(objectNameOf))]
  const known = await findObjectNames(db, location.id, names)
  return keys.filter((key) => !known.has(objectNameOf(key)))
}

export async function* keysAt(
  { providers }: Pick<Storage, 'providers'>,
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

const FILES_AT_ONCE = 200

type Page = (query: { afterId: number; limit: number }) => Promise<StoredFile[]>

/** Page after page, each behind the last file of the one before, whatever became of that file. */
export async function* everyFile(page: Page): AsyncGenerator<StoredFile> {
  let afterId = 0
  while (true) {
    const files = await page({ afterId, limit: FILES_AT_ONCE })
    yield* files
    const last = files.at(-1)
    if (!last) return
    afterId = last.id
  }
}
