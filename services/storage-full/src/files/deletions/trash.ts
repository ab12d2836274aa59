import { isDeepStrictEqual } from 'node:util'
import { ADMIN_ROLE, type Origin } from '@plinth/accounts'
import { inTransaction } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { failPoint, secondsAfter } from '@plinth/kit/runtime'
import { insertPurgedEvent } from '../events.ts'
import { ownerSeenBy } from '../files.ts'
import { recordForOtherOwner } from '../other-owners.ts'
import type { Storage, StoredFile } from '../storage.ts'
import {
  claimLeaving,
  type Leaving,
  listBeyondCap,
  listTrashOwners,
  type TrashCap,
} from './deletions.repository.ts'

/** Each batch is one transaction, and a statement times out after ten seconds. */
const FILES_AT_ONCE = 200

type Emptied = { files: number; bytes: number }

type Emptying = { ownerId: string | undefined; origin: Origin }

/**
 * Removes for good what the caller could restore of the own files. An administrator empties the trash of another owner
 * only by naming that owner, and then regardless of who deleted the files. Their bytes are left to the job that finishes
 * deletions: from here on nothing can restore them.
 */
export async function emptyTrash(
  storage: Storage,
  caller: Caller,
  { ownerId, origin }: Emptying,
): Promise<Emptied> {
  const owner = ownerSeenBy(caller, ownerId) ?? caller.userId
  const deletedBy = caller.roles.includes(ADMIN_ROLE) ? undefined : caller.userId
  // Files that are deleted from now on stay, or this might never end.
  const leaving = { ownerId: owner, deletedBy, deletedBefore: storage.clock() }
  return purge(storage, leaving, (inside, files) => {
    const [first] = files
    const done = { event: 'TRASH_EMPTIED', caller, origin } as const
    const subject = `${files.length} files`
    return first ? recordForOtherOwner(inside, { ...done, subject }, first) : Promise.resolve()
  })
}

/** For operators: the trash of one owner, or of all. */
export function emptyTrashOf(storage: Storage, ownerId: string | undefined): Promise<Emptied> {
  return purge(storage, { ownerId, deletedBefore: storage.clock() })
}

type Recording = (storage: Storage, files: StoredFile[]) => Promise<void>

/** Batch by batch, until none is left. What one batch reports is committed with it. */
async function purge(storage: Storage, leaving: Leaving, record?: Recording): Promise<Emptied> {
  const emptied = { files: 0, bytes: 0 }
  for (;;) {
    const batch = await storage.withReserve(() => purgeSome(storage, leaving, record))
    if (batch.files === 0) return emptied
    failPoint('trash:batch')
    emptied.files += batch.files
    emptied.bytes += batch.bytes
  }
}

function purgeSome(
  { db: database, ...storage }: Storage,
  leaving: Leaving,
  record?: Recording,
): Promise<Emptied> {
  return inTransaction(database, async (db) => {
    const now = storage.clock()
    const files = await claimLeaving(db, leaving, FILES_AT_ONCE)
    for (const file of files) await insertPurgedEvent(db, { ...file, version: null }, now)
    await record?.({ ...storage, db }, files)
    const bytes = files.reduce((sum, file) => sum + file.sizeBytes + file.versionBytes, 0)
    return { files: files.length, bytes }
  })
}

/** Clocks of nodes differ, and a transaction takes a while until its deletions are seen. */
const OVERLAP_SECONDS = 600

/** For a job. Remembers when it looked last, so that it need not look at every trash each minute. */
export function trashKeeper(): (storage: Storage) => Promise<void> {
  let lookedAt: Date | undefined
  let lookedFor: TrashCap | undefined
  return async (storage) => {
    const now = storage.clock()
    await purge(storage, { until: now })
    const cap = capOf(storage.limits)
    const isSame = isDeepStrictEqual(cap, lookedFor)
    const since = isSame && lookedAt ? secondsAfter(lookedAt, -OVERLAP_SECONDS) : undefined
    await shrinkTrash(storage, cap, since)
    lookedAt = now
    lookedFor = cap
  }
}

/**
 * The trash of an owner may be as large as the quota, or as the setting says: otherwise anyone could fill the disk by
 * uploading and deleting in turn. The files that were deleted first leave first.
 */
async function shrinkTrash(
  storage: Storage,
  cap: TrashCap,
  since: Date | undefined,
): Promise<void> {
  const { db } = storage
  if (cap.files === undefined && cap.bytes === undefined) return
  for (const ownerId of await listTrashOwners(db, since))
    for (;;) {
      const ids = await listBeyondCap(db, ownerId, cap, FILES_AT_ONCE)
      if (ids.length > 0) await purge(storage, { ids })
      if (ids.length < FILES_AT_ONCE) break
    }
}

function capOf({ quota, trashBytes }: Storage['limits']): TrashCap {
  return { files: quota.files, bytes: quota.bytes ?? trashBytes }
}
