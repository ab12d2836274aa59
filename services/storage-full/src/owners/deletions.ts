import { ADMIN_ROLE, type Origin, recordEvent } from '@plinth/accounts'
import {
  type Caller,
  failPoint,
  inTransaction,
  isLeaseHeld,
  type PageRequest,
  pageOf,
  secondsAfter,
} from '@plinth/kit'
import type { StorageDb } from '../database/tables.ts'
import { insertFileEvent } from '../files/events.ts'
import { markHidden } from '../files/files.repository.ts'
import { describeFile, ownerSeenBy, requireFile } from '../files/files.ts'
import { fileNotFound, fileOfAnotherUser, nothingToRestore } from '../files/problems.ts'
import {
  HELD_FOR_BACKUP,
  HOLD_SECONDS,
  objectKey,
  type Storage,
  type StoredFile,
  thumbnailKey,
} from '../files/storage.ts'
import { requireRoomFor } from '../files/usage/usage.ts'
import {
  claimForRemoval,
  claimRestorable,
  deleteFileRow,
  findRestorable,
  insertRestorable,
  listRestorable,
  type RestorableFile,
  type RestorableTime,
  updateBeyondQuota,
  updateExpired,
} from './deletions.repository.ts'

type Asked = { id: number; origin: Origin }

/**
 * Deletes a file in steps that can be resumed: mark the row, remove the bytes, remove the row. A
 * provider that is down is noticed before the first step, so that nothing has changed. A file that is
 * restorable goes as well, for good.
 */
export async function deleteFile(storage: Storage, caller: Caller, asked: Asked): Promise<void> {
  const marked = await hideFor(storage, caller, asked).catch(async (error) => {
    const claimed = fileNotFound.is(error) && (await claimFor(storage, caller, asked))
    if (!claimed) throw error
    return claimed
  })
  await finishDeletion(storage, marked)
}

/** The first of these steps alone: the others come when the time to restore the file is over. */
export async function deleteRestorably(storage: Storage, caller: Caller, asked: Asked) {
  const now = storage.clock()
  const time = {
    deletedBy: caller.userId,
    deletedAt: now.toISOString(),
    restorableUntil: secondsAfter(now, storage.limits.restorableSeconds).toISOString(),
  }
  return describeRestorable({ ...(await hideFor(storage, caller, asked, time)), ...time })
}

async function hideFor(
  storage: Storage,
  caller: Caller,
  { id, origin }: Asked,
  restorable?: RestorableTime,
): Promise<StoredFile> {
  const file = await requireFile(storage, caller, id)
  await storage.providers.at(file.location).sizeOf(objectKey(file))
  const record = (db: StorageDb, hidden: StoredFile) =>
    recordOfAnother({ ...storage, db }, { event: 'FILE_DELETED', caller, origin }, hidden)
  const hidden = await hideFile(storage, id, { restorable, record })
  if (!hidden) throw fileNotFound()
  return hidden
}

/** Its deletion was told when it became restorable. */
async function claimFor(
  storage: Storage,
  caller: Caller,
  { id, origin }: Asked,
): Promise<StoredFile | undefined> {
  const { clock, providers, withReserve } = storage
  const file = await findRestorableFor(storage, caller, { id, now: clock() })
  if (!file) return undefined
  await providers.at(file.location).sizeOf(objectKey(file))
  return withReserve(() =>
    inTransaction(storage.db, async (db) => {
      const claimed = await claimForRemoval(db, id)
      const done = { event: 'FILE_DELETED', caller, origin }
      if (claimed) await recordOfAnother({ ...storage, db }, done, claimed)
      return claimed
    }),
  )
}

/** What an administrator does to the file of another user is in the audit, where that user is found. */
async function recordOfAnother(
  storage: Storage,
  { event, caller, origin }: { event: string; caller: Caller; origin: Origin },
  { id, ownerId, ownerName }: StoredFile,
): Promise<void> {
  if (ownerId === caller.userId) return
  const entry = { event, actor: caller.username, subject: ownerName, reason: `file ${id}` }
  await recordEvent(storage, entry, origin)
}

type Hiding = {
  restorable?: RestorableTime | undefined
  record?: (db: StorageDb, file: StoredFile) => Promise<void>
}

/** The first step of a deletion, which is told at once. Of several callers one gets the file. */
export async function hideFile(
  { db: database, clock, withReserve }: Storage,
  id: number,
  { restorable, record }: Hiding = {},
): Promise<StoredFile | undefined> {
  const hidden = await withReserve(() =>
    inTransaction(database, async (db) => {
      const found = await markHidden(db, id, restorable ? 'restorable' : 'deleting')
      if (!found) return undefined
      if (restorable) await insertRestorable(db, id, restorable)
      await record?.(db, found)
      await insertFileEvent(db, 'file.deleted', found, clock())
      return found
    }),
  )
  failPoint('delete:marked')
  return hidden
}

/**
 * Also for files that stayed marked because of a crash or a provider that went down. What a backup
 * still has to read is removed later: the row is marked first, so a backup that begins after this
 * look does not need the object.
 */
export async function finishDeletion(storage: Storage, file: StoredFile): Promise<void> {
  const { db, providers, withReserve } = storage
  if (await isLeaseHeld(db, HELD_FOR_BACKUP, HOLD_SECONDS)) return
  const provider = providers.at(file.location)
  await provider.remove(objectKey(file))
  failPoint('delete:object')
  await provider.remove(thumbnailKey(file))
  failPoint('delete:thumbnail')
  await withReserve(() => deleteFileRow(db, file.id))
}

/**
 * What the caller may restore. Owners restore what they have deleted themselves, so that they cannot
 * take back what an administrator deleted; administrators restore everything.
 */
export async function pageOfRestorable(
  { db, clock }: Storage,
  caller: Caller,
  { ownerId, page }: { ownerId: string | undefined; page: PageRequest },
) {
  const seen = {
    ownerId: ownerSeenBy(caller, ownerId),
    deletedBy: caller.roles.includes(ADMIN_ROLE) ? undefined : caller.userId,
  }
  const { files, total } = await listRestorable(db, seen, { now: clock(), page })
  return pageOf(files.map(describeRestorable), total, page)
}

function describeRestorable(file: RestorableFile) {
  const { deletedAt, restorableUntil } = file
  return { ...describeFile(file), deletedAt, restorableUntil }
}

/** Undoes a deletion: the file is as it was, with its links, and counts again. */
export async function restoreFile(storage: Storage, caller: Caller, { id, origin }: Asked) {
  const now = storage.clock()
  if (!(await findRestorableFor(storage, caller, { id, now }))) throw nothingToRestore()
  const restored = await inTransaction(storage.db, async (db) => {
    const file = await claimRestorable(db, id, now)
    if (!file) throw nothingToRestore()
    const inside = { ...storage, db }
    await requireRoomFor(inside, file)
    await recordOfAnother(inside, { event: 'FILE_RESTORED', caller, origin }, file)
    await insertFileEvent(db, 'file.restored', file, now)
    return file
  })
  failPoint('restore:row')
  return describeFile(restored)
}

/** As for a file that is not deleted: 404 comes before 403. */
async function findRestorableFor(
  { db }: Storage,
  { userId, roles }: Caller,
  { id, now }: { id: number; now: Date },
): Promise<RestorableFile | undefined> {
  const file = await findRestorable(db, id, now)
  if (!file || roles.includes(ADMIN_ROLE)) return file
  if (file.ownerId !== userId) throw fileOfAnotherUser()
  return file.deletedBy === userId ? file : undefined
}

/** After a stop of days many may be due, and a statement has ten seconds. */
const EXPIRED_AT_ONCE = 500

/**
 * From here on nothing brings these files back. The quota limits what is restorable as well: an owner
 * who uploads and deletes in turn could fill the disk otherwise.
 */
export async function expireRestorable({ db, clock, limits, withReserve }: Storage): Promise<void> {
  const now = clock()
  await withReserve(async () => {
    let expired = 0
    do expired = await updateExpired(db, now, EXPIRED_AT_ONCE)
    while (expired === EXPIRED_AT_ONCE)
    await updateBeyondQuota(db, limits.quota)
  })
}
