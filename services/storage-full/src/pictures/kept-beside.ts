import { besideKey, type KeptBeside, type Storage } from '../files/storage.ts'
import { findLocation } from '../locations/locations.ts'
import {
  deleteFacts,
  deleteLeastUsed,
  deletePicture,
  findRecorded,
  type Leaving,
  listRenditions,
  listStale,
} from './renditions.repository.ts'

type Context = Pick<Storage, 'db' | 'providers' | 'withReserve'>

const STALE_AT_ONCE = 200

/** How deletions, moves and the sweeper see renditions. */
export function renditionsBeside(context: Context): KeptBeside {
  const { db } = context
  return {
    remove: ({ objectName }) => removePicture(context, objectName),
    findRecorded: (names) => findRecorded(db, names),
  }
}

async function removePicture(context: Context, objectName: string): Promise<void> {
  const { db, withReserve } = context
  await removeRenditions(context, await listRenditions(db, objectName))
  await withReserve(() => deletePicture(db, objectName))
}

/** Removes their objects. What a failure leaves behind is removed by the sweeper, once it is not recorded. */
export async function removeRenditions(
  { db, providers }: Pick<Storage, 'db' | 'providers'>,
  leaving: Leaving[],
): Promise<void> {
  for (const { name, locationId } of leaving) {
    const location = await findLocation(db, locationId)
    if (location) await providers.at(location).remove(besideKey(location, name))
  }
}

/** Forgets pictures in objects that no file has any more, which a crash or a backup may have left. */
export async function forgetStale(storage: Storage, signal: AbortSignal): Promise<void> {
  let after: string | undefined = ''
  while (after !== undefined && !signal.aborted) {
    const page = await listStale(storage.db, { after, limit: STALE_AT_ONCE })
    for (const { objectName } of page.stale) await removePicture(storage, objectName)
    after = page.last
  }
}

/** Removes every rendition, and forgets which files are no pictures. They are made again when asked for. */
export async function clearPictures(storage: Storage): Promise<{ removed: number; bytes: number }> {
  const cleared = { removed: 0, bytes: 0 }
  for (;;) {
    const leaving = await deleteLeastUsed(storage.db, Number.POSITIVE_INFINITY)
    if (leaving.length === 0) break
    await removeRenditions(storage, leaving)
    cleared.removed += leaving.length
    for (const { sizeBytes } of leaving) cleared.bytes += sizeBytes
  }
  await deleteFacts(storage.db)
  return cleared
}
