import { type Origin, recordEvent } from '@plinth/accounts'

/** What the audit records here besides the events of accounts, service keys and webhook endpoints. */
export const STORAGE_AUDIT_EVENTS = [
  'FILE_DELETED',
  'FILE_REFUSED',
  'FILE_RESTORED',
  'FILE_REPLACED',
  'FILE_VERSION_DELETED',
  'TRASH_EMPTIED',
  'FILE_CHANGED',
  'OWNER_ERASED',
  'MOVE_STARTED',
  'MOVE_CANCELLED',
  'STORAGE_CONFIGURED',
  'STORAGE_TESTED',
  'STORAGE_ACTIVATED',
  'LIMIT_CHANGED',
] as const

export type StorageAuditEvent = (typeof STORAGE_AUDIT_EVENTS)[number]

type Recorder = Parameters<typeof recordEvent>[0]
type Entry = Parameters<typeof recordEvent>[1] & { event: StorageAuditEvent }

/** Call it in the transaction of the change, if there is one. */
export function recordStorageEvent(
  recorder: Recorder,
  entry: Entry,
  origin: Origin,
): Promise<void> {
  return recordEvent(recorder, entry, origin)
}
