import type { Origin } from '@plinth/accounts'
import type { Caller } from '@plinth/kit/http'
import { recordStorageEvent, type StorageAuditEvent } from '../audit.ts'
import type { Storage, StoredFile } from './storage.ts'

type Done = {
  event: StorageAuditEvent
  caller: Caller
  origin: Origin
  /** What it was done to; by default the file. */
  subject?: string
}

/** Records what an administrator does to another user's file, with that user as the subject of the entry. */
export async function recordForOtherOwner(
  storage: Pick<Storage, 'db' | 'clock'>,
  { event, caller, origin, subject }: Done,
  { id, ownerId, ownerName }: Pick<StoredFile, 'id' | 'ownerId' | 'ownerName'>,
): Promise<void> {
  if (ownerId === caller.userId) return
  const reason = subject ?? `file ${id}`
  await recordStorageEvent(
    storage,
    { event, actor: caller.username, subject: ownerName, reason },
    origin,
  )
}
