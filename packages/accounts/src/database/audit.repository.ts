import { type Db, type PageRequest, sortRows } from '@plinth/kit'
import type { AccountTables } from './tables.ts'

type AuditEntry = {
  at: string
  event: string
  actor: string | null
  subject: string | null
  address: string | null
  result: string
  requestId: string | null
}

export async function insertAuditEvent(db: Db<AccountTables>, entry: AuditEntry): Promise<void> {
  const { requestId, ...columns } = entry
  await db
    .insertInto('audit_events')
    .values({ ...columns, request_id: requestId })
    .execute()
}

export const AUDIT_SORTS = ['id', 'at']

/** Newest first by default. */
export async function listAuditEvents(
  db: Db<AccountTables>,
  page: PageRequest,
): Promise<(AuditEntry & { id: number })[]> {
  const query = db.selectFrom('audit_events').selectAll().limit(page.size).offset(page.offset)
  const rows = await sortRows(query, page.sort)
    .orderBy('id', page.sort.at(-1)?.direction ?? 'desc')
    .execute()
  return rows.map(({ request_id, ...row }) => ({ ...row, requestId: request_id }))
}

/**
 * Rows are added at one end and removed at the other, so the ids give their number without counting
 * millions of rows. An id skipped by a failed transaction is counted too.
 */
export async function countAuditEvents(db: Db<AccountTables>): Promise<number> {
  const { first, last } = await db
    .selectFrom('audit_events')
    .select(({ fn }) => [fn.min('id').as('first'), fn.max('id').as('last')])
    .executeTakeFirstOrThrow()
  return first === null || last === null ? 0 : last - first + 1
}

/** Removes at most `limit` rows older than `before` and returns how many. */
export async function deleteOldAuditEvents(
  db: Db<AccountTables>,
  before: Date,
  limit: number,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('audit_events')
    .where('id', 'in', (sub) =>
      sub
        .selectFrom('audit_events')
        .select('id')
        .where('at', '<=', before.toISOString())
        .orderBy('at')
        .limit(limit),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
