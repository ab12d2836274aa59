import { type EventCatalogue, insertEvent, insertKeyEvent } from '@plinth/events'
import type { Db, PageRequest } from '@plinth/kit/database'
import { type Caller, pageOf, Type } from '@plinth/kit/http'
import type { Clock } from '@plinth/kit/runtime'
import { type KeyEvent, nameInAudit } from '@plinth/service-keys'
import type { Accounts, Origin, SecurityEvent, SecurityListener } from '../accounts.ts'
import {
  countAuditEvents,
  insertAuditEvent,
  listAuditEvents,
} from '../database/audit.repository.ts'
import { normalName } from '../database/names.ts'
import type { AccountTables } from '../database/tables.ts'

export type { Origin, SecurityEvent } from '../accounts.ts'
export { AUDIT_SORTS } from '../database/audit.repository.ts'

/** The event type emitted for each audit event. Events carry ids and causes, never names or addresses. */
const EVENT_TYPES: Record<string, string> = {
  REGISTER: 'user.registered',
  USER_CREATED: 'user.registered',
  USER_ENABLED: 'user.updated',
  ROLES_CHANGED: 'user.updated',
  PASSWORD_CHANGED: 'user.updated',
  PASSWORD_RESET: 'user.updated',
  USER_DISABLED: 'user.disabled',
  EMAIL_VERIFIED: 'user.verified',
  EMAIL_CHANGED: 'user.email_changed',
  DELETION_REQUESTED: 'user.disabled',
  DELETION_CANCELLED: 'user.updated',
  USER_DELETED: 'user.deleted',
  SESSION_REVOKED: 'session.revoked',
  PASSKEY_ADDED: 'passkey.added',
  PASSKEY_REMOVED: 'passkey.removed',
  TOTP_ADDED: 'mfa.enabled',
  TOTP_REMOVED: 'mfa.disabled',
}

const data = Type.Object(
  {
    userId: Type.Integer(),
    cause: Type.String({ examples: ['ROLES_CHANGED'], description: 'The name of the audit event' }),
  },
  { title: 'UserEventData' },
)

function causedBy(cause: string, description: string): EventCatalogue[string] {
  return { description, data, sample: { cause } }
}

/** Events about accounts. */
export const ACCOUNT_EVENTS: EventCatalogue = {
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
}

/** Additional events of a host that verifies addresses. */
export const ADDRESS_EVENTS: EventCatalogue = {
  'user.verified': causedBy('EMAIL_VERIFIED', 'A user has verified their e-mail address.'),
  'user.email_changed': causedBy('EMAIL_CHANGED', 'The e-mail address of an account changed.'),
}

/** Additional events of a host with passkeys and second factors. */
export const FACTOR_EVENTS: EventCatalogue = {
  'passkey.added': causedBy('PASSKEY_ADDED', 'A user added a passkey.'),
  'passkey.removed': causedBy('PASSKEY_REMOVED', 'Passkeys of a user were removed.'),
  'mfa.enabled': causedBy('TOTP_ADDED', 'Logins of a user now require a second factor.'),
  'mfa.disabled': causedBy('TOTP_REMOVED', 'Logins of a user no longer require a second factor.'),
}

/**
 * Writes one row per security event, in the transaction of the change it reports if there is one.
 * Never write a username that does not exist: people type passwords into the wrong field.
 */
export async function recordEvent(
  { db, clock, onEvent, settings }: Recorder,
  securityEvent: SecurityEvent,
  origin: Origin,
): Promise<void> {
  const { event, actor, subject, result = 'SUCCESS', userId, reason } = securityEvent
  const { address, requestId } = origin
  const at = clock()
  await insertAuditEvent(db, {
    at: at.toISOString(),
    event,
    actor: actor ?? null,
    subject: subject ?? null,
    address,
    result,
    requestId,
    reason: reason ?? null,
  })
  if (onEvent?.events.has(event)) await onEvent.run(db, { ...securityEvent, result }, origin)
  const type = EVENT_TYPES[event]
  const source = settings?.source
  if (!type || !source || userId === undefined || result !== 'SUCCESS') return
  const data = { userId, cause: event }
  await insertEvent(db, { type, subject: `user:${userId}`, data, at })
}

type Recorder = { db: Db<AccountTables>; clock: Clock } & Pick<Accounts, 'onEvent'> &
  Partial<Pick<Accounts, 'settings'>>

/** Records changes to service keys in the same audit, and emits events for them if the host has a source. */
export function recordKeyEvents(clock: Clock, source?: string, onEvent?: SecurityListener) {
  return async (db: Db<AccountTables>, keyEvent: KeyEvent): Promise<void> => {
    const { origin, actor, event, subject } = keyEvent
    const result = event === 'SERVICE_KEY_REFUSED' ? 'REFUSED' : 'SUCCESS'
    const entry = { event, actor: actor ?? undefined, subject, result } as const
    const recorder = { db, clock, ...(onEvent && { onEvent }) }
    await recordEvent(recorder, entry, { ...origin, userAgent: null })
    if (source) await insertKeyEvent(db, keyEvent, clock())
  }
}

type WantedEvents = { user?: string | undefined; event?: string | undefined }

export async function pageOfEvents(
  { db }: Accounts,
  page: PageRequest,
  { user, event }: WantedEvents = {},
) {
  const filter = {
    ...(user !== undefined && { users: namesFor(user) }),
    ...(event !== undefined && { event }),
  }
  const events = await listAuditEvents(db, page, filter)
  return pageOf(events.map(withReason), await countAuditEvents(db, filter), page)
}

/** Users are recorded in lower case, service keys and other names as they are. */
function namesFor(user: string): string[] {
  const asGiven = user.trim().replaceAll('\0', '\ufffd')
  return [...new Set([normalName(user), asGiven])]
}

/** Most events have no reason, and then omit the member. */
function withReason<E extends { reason: string | null }>({ reason, ...event }: E) {
  return reason === null ? event : { ...event, reason }
}

/** Who changes the account of another user, and why. */
export type By = {
  actor: string
  origin: Origin
  reason?: string | undefined
  /** Set when a request does it: checked again in a transaction that grants rights. */
  caller?: Caller
}

const MAX_USER_AGENT = 300

type Sender = {
  ip: string
  id: string
  headers: { 'user-agent'?: string | undefined; 'accept-language'?: string | undefined }
}

type Body = { reason?: string } | undefined | null

/** For administrators: their browser's language says nothing about the user's. */
export function byCaller(request: Sender & { caller: Caller; body?: unknown }): By {
  const reason = (request.body as Body)?.reason
  const origin: Origin = { ...originOf(request), languages: undefined, administrator: true }
  const { caller } = request
  return { actor: nameInAudit(caller), origin, reason, caller }
}

export function originOf({ ip, id, headers }: Sender): Origin {
  const userAgent = headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null
  return { address: ip, userAgent, requestId: id, languages: headers['accept-language'] }
}
