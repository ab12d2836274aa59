import { type Clock, type Db, type KeyEvent, type PageRequest, pageOf } from '@plinth/kit'
import type { Accounts, Origin, SecurityEvent } from '../accounts.ts'
import {
  countAuditEvents,
  insertAuditEvent,
  listAuditEvents,
} from '../database/audit.repository.ts'
import type { AccountTables } from '../database/tables.ts'

export type { Origin, SecurityEvent } from '../accounts.ts'
export { AUDIT_SORTS } from '../database/audit.repository.ts'

/**
 * One row per security event, written in the transaction of what it reports where there is one.
 * A username that does not exist is never written: people type passwords into the wrong field.
 */
export async function recordEvent<T extends AccountTables>(
  { db: database, clock, onEvent }: Recorder<T>,
  securityEvent: SecurityEvent,
  origin: Origin,
): Promise<void> {
  const db = database as unknown as Db<AccountTables>
  const { event, actor, subject, result = 'SUCCESS' } = securityEvent
  const { address, requestId } = origin
  await insertAuditEvent(db, {
    at: clock().toISOString(),
    event,
    actor: actor ?? null,
    subject: subject ?? null,
    address,
    result,
    requestId,
  })
  if (onEvent?.events.has(event)) await onEvent.run(db, { ...securityEvent, result }, origin)
}

type Recorder<T> = { db: Db<T>; clock: Clock } & Pick<Accounts, 'onEvent'>

/** Writes what happens to service keys into the same audit. */
export function recordKeyEvents<T extends AccountTables>(clock: Clock) {
  return (db: Db<T>, { origin, actor, event, subject }: KeyEvent): Promise<void> => {
    const result = event === 'SERVICE_KEY_REFUSED' ? 'REFUSED' : 'SUCCESS'
    const entry = { event, actor: actor ?? undefined, subject, result } as const
    return recordEvent({ db, clock }, entry, { ...origin, userAgent: null })
  }
}

export async function pageOfEvents({ db }: Accounts, page: PageRequest) {
  return pageOf(await listAuditEvents(db, page), await countAuditEvents(db), page)
}

/** Who changes the account of another user. */
export type By = { actor: string; origin: Origin }

const LONGEST_USER_AGENT = 300

type Sender = { ip: string; id: string; headers: { 'user-agent'?: string | undefined } }

export function byCaller(request: Sender & { caller: { username: string } }): By {
  return { actor: request.caller.username, origin: originOf(request) }
}

export function originOf({ ip, id, headers }: Sender): Origin {
  const userAgent = headers['user-agent']?.slice(0, LONGEST_USER_AGENT) ?? null
  return { address: ip, userAgent, requestId: id }
}
