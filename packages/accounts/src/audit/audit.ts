import { insertEvent, insertKeyEvent } from '@plinth/events'
import type { Db, PageRequest } from '@plinth/kit/database'
import { type Caller, pageOf } from '@plinth/kit/http'
import type { Clock } from '@plinth/kit/runtime'
import { type KeyEvent, nameInAudit } from '@plinth/service-keys'
import type { Accounts, Origin, SecurityEvent, SecurityListener } from '../accounts.ts'
import { publishedTypeOf } from '../audit-events.ts'
import {
  countAuditEvents,
  insertAuditEvent,
  listAuditEvents,
} from '../database/audit.repository.ts'
import { normalName } from '../database/names.ts'
import type { AccountTables } from '../database/tables.ts'

export type { Origin, SecurityEvent } from '../accounts.ts'
export { AUDIT_SORTS } from '../database/audit.repository.ts'

/** Records an event of the accounts, of a service key or of a webhook endpoint. */
export function recordSecurityEvent(
  recorder: Recorder,
  securityEvent: SecurityEvent,
  origin: Origin,
): Promise<void> {
  return recordEvent(recorder, securityEvent, origin)
}

/**
 * Writes one row per security event, in the transaction of the change it reports if there is one. A host calls it
 * for events of its own. Never write a username that does not exist: people type passwords into the wrong field.
 */
export async function recordEvent(
  { db, clock, onEvent, settings }: Recorder,
  securityEvent: SecurityEvent<string>,
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
  if (onEvent && isFollowed(onEvent, securityEvent))
    await onEvent.run(db, { ...securityEvent, result }, origin)
  const type = publishedTypeOf(event)
  const source = settings?.source
  if (!type || !source || userId === undefined || result !== 'SUCCESS') return
  const data = { userId, cause: event }
  await insertEvent(db, { type, subject: `user:${userId}`, data, at })
}

function isFollowed(
  { events }: SecurityListener,
  securityEvent: SecurityEvent<string>,
): securityEvent is SecurityEvent {
  return (events as ReadonlySet<string>).has(securityEvent.event)
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
    await recordSecurityEvent(recorder, entry, { ...origin, userAgent: null })
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
