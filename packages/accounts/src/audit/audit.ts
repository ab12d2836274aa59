import { type Clock, type Db, type KeyEvent, type PageRequest, pageOf } from '@plinth/kit'
import type { Accounts } from '../accounts.ts'
import {
  countAuditEvents,
  insertAuditEvent,
  listAuditEvents,
} from '../database/audit.repository.ts'
import type { AccountTables } from '../database/tables.ts'

export { AUDIT_SORTS } from '../database/audit.repository.ts'

export type SecurityEvent = {
  event: string
  /** Who did it, if known. */
  actor?: string
  /** To whom or what it was done. */
  subject?: string
  /** THROTTLED: refused, and further events of the same kind are not recorded for a while. */
  result?: 'SUCCESS' | 'REFUSED' | 'THROTTLED' | 'UNCHANGED'
}

/**
 * One row per security event, written in the transaction of what it reports where there is one.
 * A username that does not exist is never written: people type passwords into the wrong field.
 */
export async function recordEvent<T extends AccountTables>(
  { db, clock }: { db: Db<T>; clock: Clock },
  { event, actor, subject, result = 'SUCCESS' }: SecurityEvent,
  { address, requestId }: Origin,
): Promise<void> {
  await insertAuditEvent(db as unknown as Db<AccountTables>, {
    at: clock().toISOString(),
    event,
    actor: actor ?? null,
    subject: subject ?? null,
    address,
    result,
    requestId,
  })
}

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

/** Where a request came from, as the audit and the list of sessions show it. */
export type Origin = { address: string; userAgent: string | null; requestId: string | null }

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
