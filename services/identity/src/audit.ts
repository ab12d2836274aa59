import { type AuditEvent, type Origin, recordEvent, type SecurityEvent } from '@plinth/accounts'

/** What the audit records here besides the events of accounts, service keys and webhook endpoints. */
export const IDENTITY_AUDIT_EVENTS = [
  'CLIENT_CREATED',
  'CLIENT_CHANGED',
  'CLIENT_SECRET_ROTATED',
  'CLIENT_DELETED',
  'CODE_REPLAYED',
  'CONSENT_REVOKED',
] as const

type IdentityAuditEvent = (typeof IDENTITY_AUDIT_EVENTS)[number]

export type Recorder = Parameters<typeof recordEvent>[0]

/** Call it in the transaction of the change, if there is one. */
export function recordIdentityEvent(
  recorder: Recorder,
  entry: SecurityEvent<AuditEvent | IdentityAuditEvent>,
  origin: Origin,
): Promise<void> {
  return recordEvent(recorder, entry, origin)
}
