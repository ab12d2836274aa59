import { ADMIN_ROLE } from '@plinth/accounts'
import type { PageRequest } from '@plinth/kit/database'
import { type Caller, pageOf } from '@plinth/kit/http'
import { noRoomToReplace, noRoomToRestore, quotaExceeded } from '../problems.ts'
import { type Storage, type StoredFile, shownOwnerId } from '../storage.ts'
import { reserveRoom } from './counted-files.repository.ts'
import { findFigures } from './figures.repository.ts'
import {
  countOwners,
  findTaken,
  listUsage,
  type Quota,
  sumVersionsOf,
  type Usage,
} from './usage.repository.ts'

/** What the caller has stored, and the quota; null where there is no limit. The trash is what the caller could restore. */
export async function usageOf({ db, limits, clock }: Storage, { userId, roles }: Caller) {
  const deletedBy = roles.includes(ADMIN_ROLE) ? undefined : userId
  const { files, bytes, ...others } = await findFigures(db, userId, { deletedBy, now: clock() })
  return { ...describeUsage({ files, bytes }, limits.quota), ...others }
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
  const { quota } = limits
  const { files, bytes } = quota
  if (files === undefined && bytes === undefined) return Number.POSITIVE_INFINITY
  if (bodyBytes <= SMALL_BYTES) return bytes ?? Number.POSITIVE_INFINITY
  const taken = await findTaken(db, userId)
  const room = bytes === undefined ? Number.POSITIVE_INFINITY : bytes - taken.bytes
  const isFull = taken.files >= (files ?? Number.POSITIVE_INFINITY)
  if (room <= 0 || isFull) throw overQuota(quota)
  return room
}

/**
 * How many bytes the new content of a file may have. `freed` is what replacing it removes, which is always enough for
 * content of that size.
 */
export async function requireRoomToReplace(
  { db, limits }: Storage,
  ownerId: string,
  { bodyBytes, freed }: { bodyBytes: number; freed: number },
): Promise<number> {
  const { quota } = limits
  const { bytes } = quota
  if (bytes === undefined) return Number.POSITIVE_INFINITY
  if (bodyBytes <= SMALL_BYTES) return bytes + freed
  const taken = await findTaken(db, ownerId)
  const room = Math.max(bytes - taken.bytes, 0) + freed
  if (room === 0) throw overQuota(quota, noRoomToReplace)
  return room
}

/** Call it in the transaction that makes a deleted file visible again: it counts like an upload. */
export async function requireRoomFor({ db, limits }: Storage, file: StoredFile): Promise<void> {
  const { quota } = limits
  const { id, ownerId, version } = file
  const versionBytes = await sumVersionsOf(db, version > 1 ? [id] : [])
  const added = { files: 1, bytes: file.sizeBytes + versionBytes }
  if (!(await reserveRoom(db, ownerId, added, quota))) throw overQuota(quota, noRoomToRestore)
}

export function overQuota({ files, bytes }: Quota, problem = quotaExceeded) {
  return problem({ extra: { maxFiles: files ?? null, maxBytes: bytes ?? null } })
}
