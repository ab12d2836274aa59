import type { ErasedUsers } from '@plinth/erased-users'
import type { Introspection } from '@plinth/kit/tokens'
import { recordStorageEvent } from '../audit.ts'
import { finishDeletion, hideInAnyState } from '../files/deletions/deletions.ts'
import type { Storage } from '../files/storage.ts'
import { eraseUploads } from '../uploads/expire.ts'
import { eraseFolders, listIdsToErase, renameOwner } from './erasure.repository.ts'
import { ownerIdOf } from './owners.ts'

const FILES_AT_ONCE = 200
const ORIGIN = { address: 'issuer', userAgent: null, requestId: null }

/** Erases the files and names of users whom the trusted issuer has erased. */
export function erasedOwners(
  storage: Storage,
  issuer: string,
  { deletedUsers }: Introspection,
): ErasedUsers {
  const { db, clock } = storage
  return {
    db,
    clock,
    issuer,
    deletedUsers,
    eraseUser: (userId) => eraseFiles(storage, ownerIdOf(issuer, userId)),
    forgetName: (username, userId, signal) =>
      renameOwner(db, username, { to: ownerIdOf(issuer, userId), now: clock(), signal }),
  }
}

/** Bytes that cannot be removed now are left to the job that finishes deletions. */
async function eraseFiles(storage: Storage, ownerId: string): Promise<void> {
  const { db, clock, log, withReserve } = storage
  let erased = 0
  await eraseUploads(storage, ownerId)
  for (;;) {
    const ids = await listIdsToErase(db, ownerId, FILES_AT_ONCE)
    if (ids.length === 0) break
    for (const id of ids) {
      const hidden = await hideInAnyState(storage, id)
      if (!hidden) continue
      erased += 1
      await finishDeletion(storage, hidden).catch((error) =>
        log.warn({ err: error, file: id }, 'a deletion could not be finished yet'),
      )
    }
  }
  await withReserve(() => eraseFolders(db, ownerId))
  if (erased === 0) return
  await recordStorageEvent(
    { db, clock },
    { event: 'OWNER_ERASED', subject: ownerId, reason: `${erased} files` },
    ORIGIN,
  )
}
