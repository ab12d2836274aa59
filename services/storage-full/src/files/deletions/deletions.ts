import { ADMIN_ROLE, type Origin } from '@plinth/accounts'
import { inTransaction, isLeaseHeld, type PageRequest } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { failPoint, secondsAfter } from '@plinth/kit/runtime'
import type { StorageDb } from '../../database/tables.ts'
import { insertFileEvent, insertPurgedEvent } from '../events.ts'
import { findOnePerLocation, markHidden, markHiddenTogether } from '../files.repository.ts'
import { describeFile, lightBatches, ownerSeenBy, requireFile } from '../files.ts'
import { createdFolder, lockFolders } from '../folders/folders.repository.ts'
import { withAncestors } from '../folders/paths.ts'
import { wordsOf } from '../names.ts'
import { recordForOtherOwner } from '../other-owners.ts'
import { fileNotFound, fileOfAnotherUser, nothingToRestore, overFolders } from '../problems.ts'
import {
  HELD_FOR_BACKUP,
  HOLD_SECONDS,
  objectKey,
  type Storage,
  type StoredFile,
  thumbnailKey,
} from '../storage.ts'
import { subtractUsage, sumVersionsOf } from '../usage/usage.repository.ts'
import { requireRoomFor } from '../usage/usage.ts'
import { removeVersionBytes } from '../versions/removal.ts'
import {
  claimForRemoval,
  claimRestorable,
  deleteFileRow,
  findRestorable,
  insertRestorable,
  insertRestorableTogether,
  listRestorable,
  listRestorableByIds,
  type RestorableFile,
  type RestorableTime,
  updateFormerFolder,
} from './deletions.repository.ts'

type FileRequest = { id: number; origin: Origin }

/**
 * Deletes a file in steps that can be resumed: mark the row, remove the bytes, remove the row. A
 * provider that is down is noticed before the first step, when nothing has changed yet. A restorable
 * file is removed for good.
 */
export async function deleteFile(
  storage: Storage,
  caller: Caller,
  asked: FileRequest,
): Promise<void> {
  await finishDeletion(storage, await markFor(storage, caller, asked))
}

async function markFor(storage: Storage, caller: Caller, asked: FileRequest): Promise<StoredFile> {
  try {
    return await hideFor(storage, caller, asked)
  } catch (error) {
    if (!fileNotFound.is(error)) throw error
  }
  // A file that is restored meanwhile can be hidden after all.
  return (await claimFor(storage, caller, asked)) ?? hideFor(storage, caller, asked)
}

/** Only the first of these steps; the others follow when the file can no longer be restored. */
export async function deleteRestorably(storage: Storage, caller: Caller, asked: FileRequest) {
  const time = restorableTime(storage, caller)
  return describeRestorable({ ...(await hideFor(storage, caller, asked, time)), ...time })
}

function restorableTime({ clock, limits }: Storage, { userId }: Caller): RestorableTime {
  const now = clock()
  return {
    deletedBy: userId,
    deletedAt: now.toISOString(),
    restorableUntil: secondsAfter(now, limits.restorableSeconds).toISOString(),
  }
}

/** The same for several files of the caller, in one transaction. Returns how many were still stored. */
export async function trashTogether(
  storage: Storage,
  caller: Caller,
  ids: number[],
): Promise<number> {
  const { db, clock, withReserve } = storage
  await requireAllRemovable(storage, ids)
  const time = restorableTime(storage, caller)
  return withReserve(() =>
    inTransaction(db, async (inside) => {
      const files = await markHiddenTogether(inside, caller.userId, ids)
      if (files.length === 0) return 0
      await insertRestorableTogether(
        inside,
        files.map(({ id }) => id),
        time,
      )
      for (const file of files) await insertFileEvent(inside, 'file.deleted', file, clock())
      const bytes = await bytesOf(inside, files)
      await subtractUsage(inside, caller.userId, { files: files.length, bytes })
      return files.length
    }),
  )
}

/** With their earlier versions. */
async function bytesOf(db: StorageDb, files: StoredFile[]): Promise<number> {
  const replaced = files.filter(({ version }) => version > 1).map(({ id }) => id)
  const own = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  return own + (await sumVersionsOf(db, replaced))
}

/** Asks each location once. */
async function requireAllRemovable({ db, providers }: Storage, ids: number[]): Promise<void> {
  for (const file of await findOnePerLocation(db, ids))
    await providers.at(file.location).requireRemovable(objectKey(file))
}

async function hideFor(
  storage: Storage,
  caller: Caller,
  { id, origin }: FileRequest,
  restorable?: RestorableTime,
): Promise<StoredFile> {
  const file = await requireFile(storage, caller, id)
  await storage.providers.at(file.location).requireRemovable(objectKey(file))
  const record = (db: StorageDb, hidden: StoredFile) =>
    recordForOtherOwner({ ...storage, db }, { event: 'FILE_DELETED', caller, origin }, hidden)
  const hidden = await hideFile(storage, id, { restorable, record })
  if (!hidden) throw fileNotFound()
  return hidden
}

/** Publishes `file.purged`: `file.deleted` was published when the file became restorable. */
async function claimFor(
  storage: Storage,
  caller: Caller,
  { id, origin }: FileRequest,
): Promise<StoredFile | undefined> {
  const { clock, providers, withReserve } = storage
  const file = await findRestorableFor(storage, caller, { id, now: clock() })
  if (!file) return undefined
  await providers.at(file.location).requireRemovable(objectKey(file))
  return withReserve(() =>
    inTransaction(storage.db, async (db) => {
      const claimed = await claimForRemoval(db, id)
      const done = { event: 'FILE_DELETED', caller, origin } as const
      if (!claimed) return undefined
      await recordForOtherOwner({ ...storage, db }, done, claimed)
      await insertPurgedEvent(db, { ...claimed, version: null }, clock())
      return claimed
    }),
  )
}

type Hiding = {
  restorable?: RestorableTime | undefined
  record?: (db: StorageDb, file: StoredFile) => Promise<void>
}

/** The first step of a deletion; publishes its event. Of several concurrent callers only one gets the file. */
async function hideFile(
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

/** For an owner who is erased: the file may be stored, or restorable. */
export async function hideInAnyState(
  storage: Storage,
  id: number,
): Promise<StoredFile | undefined> {
  const { db, clock, withReserve } = storage
  const purge = () =>
    inTransaction(db, async (inside) => {
      const claimed = await claimForRemoval(inside, id)
      if (claimed) await insertPurgedEvent(inside, { ...claimed, version: null }, clock())
      return claimed
    })
  return (await hideFile(storage, id)) ?? withReserve(purge)
}

/**
 * Also for files that stayed marked because of a crash or a provider outage. While a backup is reading,
 * objects are left for later. A backup that begins after this check does not need the object, because
 * the row was marked first.
 */
export async function finishDeletion(storage: Storage, file: StoredFile): Promise<void> {
  const { db, providers, beside, withReserve } = storage
  if (await isLeaseHeld(db, HELD_FOR_BACKUP, HOLD_SECONDS)) return
  if (file.version > 1) await removeVersionBytes(storage, file.id)
  const provider = providers.at(file.location)
  await provider.remove(objectKey(file))
  failPoint('delete:object')
  await provider.remove(thumbnailKey(file))
  failPoint('delete:thumbnail')
  await beside.remove(file)
  failPoint('delete:beside')
  await withReserve(() => deleteFileRow(db, file.id))
}

/**
 * The files the caller may restore. Owners can restore only what they have deleted themselves, so that
 * they cannot undo a deletion by an administrator; administrators can restore everything.
 */
export async function pageOfRestorable(
  { db, clock }: Storage,
  caller: Caller,
  { ownerId, q, folder, page }: TrashQuery,
) {
  const seen = {
    ownerId: ownerSeenBy(caller, ownerId),
    deletedBy: caller.roles.includes(ADMIN_ROLE) ? undefined : caller.userId,
    words: wordsOf(q ?? ''),
    folder,
  }
  const now = clock()
  const { places, total } = await listRestorable(db, seen, { now, page })
  async function* read() {
    for (const batch of lightBatches(places)) {
      const ids = batch.map(({ id }) => id)
      yield (await listRestorableByIds(db, ids, now)).map(describeRestorable)
    }
  }
  return { files: read(), total }
}

function describeRestorable(file: RestorableFile) {
  const { deletedAt, restorableUntil, folder, formerFolder } = file
  return { ...describeFile(file), folder: formerFolder ?? folder, deletedAt, restorableUntil }
}

/**
 * Undoes a deletion: the file is back in its folder, with its versions and links, and counts towards the quota again.
 * A folder that is gone is made again.
 */
export async function restoreFile(storage: Storage, caller: Caller, { id, origin }: FileRequest) {
  const now = storage.clock()
  const found = await findRestorableFor(storage, caller, { id, now })
  if (!found) throw nothingToRestore()
  const restored = await inTransaction(storage.db, async (db) => {
    // First, as in every transaction about folders: no one deletes the folder from now on.
    await lockFolders(db, found.ownerId)
    const claimed = await claimRestorable(db, id, now)
    const file = claimed && (await backInFolder(db, claimed, now))
    if (!file) throw nothingToRestore()
    const inside = { ...storage, db }
    await requireRoomFor(inside, file)
    await recordForOtherOwner(inside, { event: 'FILE_RESTORED', caller, origin }, file)
    await insertFileEvent(db, 'file.restored', file, now)
    return file
  })
  failPoint('restore:row')
  return describeFile(restored)
}

async function backInFolder(
  db: StorageDb,
  file: StoredFile,
  now: Date,
): Promise<StoredFile | undefined> {
  const { id, ownerId, formerFolder } = file
  if (formerFolder === null) return file
  const folderId = await createdFolder(db, {
    ...{ ownerId, now, tooMany: overFolders },
    paths: withAncestors(formerFolder),
  })
  return updateFormerFolder(db, id, folderId)
}

/** 404 takes precedence over 403, as for a file that is not deleted. */
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

type TrashQuery = {
  ownerId: string | undefined
  /** Words of names. */
  q: string | undefined
  folder: string | undefined
  page: PageRequest
}
