import type { EventCatalogue } from '@plinth/events'
import { Type } from '@plinth/kit/http'
import type { AccountEventType, AuditEvent } from '../audit-events.ts'

type Catalogue = Partial<Record<AccountEventType, EventCatalogue[string]>>

const data = Type.Object(
  {
    userId: Type.Integer(),
    cause: Type.String({ examples: ['ROLES_CHANGED'], description: 'The name of the audit event' }),
  },
  { title: 'UserEventData' },
)

function causedBy(cause: AuditEvent, description: string): EventCatalogue[string] {
  return { description, data, sample: { cause } }
}

/** Events about accounts. */
export const ACCOUNT_EVENTS = {
  'user.registered': causedBy('REGISTER', 'An account was created.'),
  'user.updated': causedBy(
    'ROLES_CHANGED',
    'The roles or the password changed, or the account was enabled.',
  ),
  'user.disabled': causedBy('USER_DISABLED', 'An account was disabled; its sessions ended.'),
  'user.deleted': causedBy(
    'USER_DELETED',
    'An account was erased; delete what you store about it.',
  ),
  'session.revoked': causedBy('SESSION_REVOKED', 'Sessions of a user were ended.'),
} satisfies Catalogue

/** Additional events of a host that verifies addresses. */
export const ADDRESS_EVENTS = {
  'user.verified': causedBy('EMAIL_VERIFIED', 'A user has verified their e-mail address.'),
  'user.email_changed': causedBy('EMAIL_CHANGED', 'The e-mail address of an account changed.'),
} satisfies Catalogue

/** Additional events of a host with passkeys and second factors. */
export const FACTOR_EVENTS = {
  'passkey.added': causedBy('PASSKEY_ADDED', 'A user added a passkey.'),
  'passkey.removed': causedBy('PASSKEY_REMOVED', 'Passkeys of a user were removed.'),
  'mfa.enabled': causedBy('TOTP_ADDED', 'Logins of a user now require a second factor.'),
  'mfa.disabled': causedBy('TOTP_REMOVED', 'Logins of a user no longer require a second factor.'),
} satisfies Catalogue

/** Additional events of a host where users sign in with accounts at providers. */
export const IDENTITY_EVENTS = {
  'identity.linked': causedBy(
    'IDENTITY_LINKED',
    'A user can now sign in with an account at a provider.',
  ),
  'identity.unlinked': causedBy(
    'IDENTITY_UNLINKED',
    'Accounts at providers were removed from a user.',
  ),
} satisfies Catalogue
