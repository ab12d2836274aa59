import type { PageRequest } from '@plinth/kit/database'
import { type Caller, pageOf } from '@plinth/kit/http'
import { noRoomToRestore, quotaExceeded } from '../problems.ts'
import { type Storage, type StoredFile, shownOwnerId } from '../storage.ts'
import { reserveRoom } from './counted-files.repository.ts'
import {
  countOwners,
  findReserved,
  findUsage,
  listUsage,
  type Quota,
  type Usage,
} from './usage.repository.ts'

/** What the caller has stored, and the quota; null where there is no limit. */
export async function usageOf({ db, limits }: Storage, { userId }: Caller) {
  const reserved = await findReserved(db, userId)
  return {
    ...describeUsage(await findUsage(db, userId), limits.quota),
    uploadingFiles: reserved.files,
    uploadingBytes: reserved.bytes,
  }
}

function describeUsage({ files, bytes }: Usage, quota: Quota) {
  return { files, bytes, maxFiles: quota.files ?? null, maxBytes: quota.bytes ?? null }
}

/** For administrators: every owner of files, those with the most bytes first. */
export async function pageOfUsage({ db, limits }: Storage, page: PageRequest) {
  const rows = await listUsage(db, page)
  const owners = rows.map(({ ownerId, owner, ...usage }) => ({
    ownerId: shownOwnerId(ownerId),
    owner,
    ...describeUsage(usage, limits.quota),
  }))
  return pageOf(owners, await countOwners(db), page)
}

const SMALL_BYTES = 1024 * 1024

/**
 * How many bytes the caller may still store. Only a large body is worth a query before it is read, and
 * is refused here when no room is left. Small bodies, and concurrent uploads that exceed the quota
 * together, are refused when their row is inserted.
 */
export async function requireRoom(
  { db, limits }: Storage,
  { userId }: Caller,
  bodyBytes: number,
): Promise<number> {
  const { files, bytes } = limits.quota
  if (files === undefined && bytes === undefined) return Number.POSITIVE_INFINITY
  if (bodyBytes <= SMALL_BYTES) return bytes ?? Number.POSITIVE_INFINITY
  const used = await findUsage(db, userId)
  const reserved = await findReserved(db, userId)
  const room = bytes === undefined ? Number.POSITIVE_INFINITY : bytes - used.bytes - reserved.bytes
  const isFull = used.files + reserved.files >= (files ?? Number.POSITIVE_INFINITY)
  if (room <= 0 || isFull) throw overQuota(limits.quota)
  return room
}

/** Call it in the transaction that makes a deleted file visible again: it counts like an upload. */
export async function requireRoomFor({ db, limits }: Storage, file: StoredFile): Promise<void> {
  if (!(await reserveRoom(db, file, limits.quota))) throw overQuota(limits.quota, noRoomToRestore)
}

export function overQuota({ files, bytes }: Quota, problem = quotaExceeded) {
  return problem({ extra: { maxFiles: files ?? null, maxBytes: bytes ?? null } })
}
