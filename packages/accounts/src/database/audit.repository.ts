import {
  type Db,
  deleteUntil,
  type FromRow,
  fromRow,
  type PageRequest,
  prepared,
  sortRows,
  toRow,
} from '@plinth/kit'
import type { Selectable } from 'kysely'
import type { AccountTables } from './tables.ts'

type AuditRow = Selectable<AccountTables['audit_events']>

type NewRow = Omit<AuditRow, 'id'>

const insert = prepared((db: Db<AccountTables>, row: NewRow) =>
  db.insertInto('audit_events').values(row),
)

export async function insertAuditEvent(
  db: Db<AccountTables>,
  entry: FromRow<NewRow>,
): Promise<void> {
  await insert(db, toRow<NewRow>(entry))
}

export const AUDIT_SORTS = ['id', 'at']

/** Newest first by default. */
export async function listAuditEvents(
  db: Db<AccountTables>,
  page: PageRequest,
): Promise<FromRow<AuditRow>[]> {
  const query = db.selectFrom('audit_events').selectAll().limit(page.size).offset(page.offset)
  const rows = await sortRows(query, page.sort)
    .orderBy('id', page.sort.at(-1)?.direction ?? 'desc')
    .execute()
  return rows.map(fromRow)
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

export function deleteOldAuditEvents(db: Db<AccountTables>, before: Date, signal: AbortSignal) {
  return deleteUntil(db, { table: 'audit_events', key: 'id', column: 'at' }, before, signal)
}
