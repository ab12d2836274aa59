import type { EndpointAuditEvent } from '@plinth/events'
import type { KeyAuditEvent } from '@plinth/service-keys'

/**
 * The security events that the audit records, each with the type of the event that is published for it. Published
 * events carry ids and causes, never names or addresses.
 */
export const AUDIT_EVENTS = {
  REGISTER: 'user.registered',
  USER_CREATED: 'user.registered',
  USER_ENABLED: 'user.updated',
  USER_DISABLED: 'user.disabled',
  ROLES_CHANGED: 'user.updated',
  DELETION_REQUESTED: 'user.disabled',
  DELETION_CANCELLED: 'user.updated',
  USER_DELETED: 'user.deleted',
  DATA_EXPORT_REQUESTED: null,
  DATA_EXPORTED: null,

  LOGIN: null,
  LOGOUT: null,
  REFRESH: null,
  REFRESH_REPLAYED: null,
  REAUTHENTICATED: null,
  ACCESS_DENIED: null,
  SESSION_REVOKED: 'session.revoked',

  SIGN_IN_CODE_REQUESTED: null,
  SIGN_IN_CODE_USED: null,
  SIGN_UP_CODE_REQUESTED: null,
  IDENTITY_USED: null,
  IDENTITY_LINKED: 'identity.linked',
  IDENTITY_UNLINKED: 'identity.unlinked',
  CONSENT_GIVEN: null,

  PASSWORD_CHANGED: 'user.updated',
  PASSWORD_RESET_REQUESTED: null,
  PASSWORD_RESET: 'user.updated',
  PASSWORD_EXPIRED: null,

  VERIFY_EMAIL_REQUESTED: null,
  VERIFICATION_SENT: null,
  EMAIL_VERIFIED: 'user.verified',
  EMAIL_CHANGE_REQUESTED: null,
  EMAIL_CHANGED: 'user.email_changed',
  MAIL_LIMIT_REACHED: null,
  MAIL_RETRIED: null,
  REGISTRATION_CHANGED: null,

  PASSKEY_ADDED: 'passkey.added',
  PASSKEY_USED: null,
  PASSKEY_REMOVED: 'passkey.removed',
  TOTP_ADDED: 'mfa.enabled',
  TOTP_REMOVED: 'mfa.disabled',
  TOTP_REMOVAL_REQUESTED: null,
  TOTP_REMOVAL_CANCELLED: null,
  SECOND_FACTOR_ASKED: null,
  SECOND_FACTOR_USED: null,
  RECOVERY_CODE_USED: null,
  RECOVERY_CODES_RENEWED: null,
} as const

type AccountAuditEvent = keyof typeof AUDIT_EVENTS

/** With those of service keys and webhook endpoints, which are recorded in the same audit. */
export type AuditEvent = AccountAuditEvent | KeyAuditEvent | EndpointAuditEvent

/** The types of published events. */
export type AccountEventType = NonNullable<(typeof AUDIT_EVENTS)[AccountAuditEvent]>

export function publishedTypeOf(event: string): AccountEventType | null {
  return Object.hasOwn(AUDIT_EVENTS, event) ? AUDIT_EVENTS[event as AccountAuditEvent] : null
}
