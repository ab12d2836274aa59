import {
  type Db,
  deleteUntil,
  type FromRow,
  fromRow,
  type PageRequest,
  prepared,
  sortRows,
  toRow,
} from '@plinth/kit/database'
import { type Selectable, type SelectQueryBuilder, sql } from 'kysely'
import type { AccountTables } from './tables.ts'

/** Where a request came from, as the audit and the list of sessions show it. */
export type Origin = {
  address: string
  userAgent: string | null
  requestId: string | null
  /** `Accept-Language` of a user who changes their own account. */
  languages?: string | undefined
  /** The request is an administrator's, so it is not shown to the owner of the account. */
  administrator?: true
}

type AuditRow = Selectable<AccountTables['audit_events']>

type NewRow = Omit<AuditRow, 'id'>

const insert = prepared((db: Db<AccountTables>, entry: FromRow<NewRow>) =>
  db.insertInto('audit_events').values(toRow<NewRow>(entry)),
)

export async function insertAuditEvent(
  db: Db<AccountTables>,
  entry: FromRow<NewRow>,
): Promise<void> {
  await insert(db, entry)
}

export const AUDIT_SORTS = ['id', 'at']

/** Newest first by default. */
export async function listAuditEvents(
  db: Db<AccountTables>,
  page: PageRequest,
  filter: AuditFilter = {},
): Promise<FromRow<AuditRow>[]> {
  const direction = directionOf(page)
  const all = db.selectFrom('audit_events').selectAll()
  if (!isFiltered(filter)) {
    const rows = sortRows(all, page.sort).orderBy('id', direction)
    return (await rows.limit(page.size).offset(page.offset).execute()).map(fromRow)
  }
  const found = await filteredIds(db, page, filter).execute()
  if (found.length === 0) return []
  const ids = found.map(({ id }) => id)
  const rows = await all.where('id', 'in', ids).orderBy('id', direction).execute()
  return rows.map(fromRow)
}

type AuditFilter = {
  /** The actor or the subject is one of these. */
  users?: string[]
  event?: string
}

/** Finds the ids from the indexes alone, before any row: as one query, databases prefer to read every row. */
export function filteredIds(db: Db<AccountTables>, page: PageRequest, filter: AuditFilter) {
  const direction = directionOf(page)
  const upTo = page.offset + page.size
  return idsOf(db, filter, (ids) => ids.orderBy('id', direction).limit(upTo))
    .orderBy('id', direction)
    .limit(page.size)
    .offset(page.offset)
}

/** Ids are unique and grow with time, so only the first sort has an effect. */
function directionOf({ sort }: PageRequest): 'asc' | 'desc' {
  return sort[0]?.direction ?? 'desc'
}

function isFiltered({ users, event }: AuditFilter): boolean {
  return users !== undefined || event !== undefined
}

type Ids = SelectQueryBuilder<AccountTables, 'audit_events', { id: number }>

/** The index on actors holds only what they did to others. */
function idsOf(db: Db<AccountTables>, { users, event }: AuditFilter, part: (ids: Ids) => Ids) {
  const all: Ids = db.selectFrom('audit_events').select('id')
  const found = event === undefined ? all : all.where('event', '=', event)
  const from = (ids: Ids) => db.selectFrom(part(ids).as('part')).select('id')
  if (users === undefined) return from(found)
  const toOthers = found.where(sql<boolean>`actor <> subject`)
  const parts = users.flatMap((user) => [
    from(found.where('subject', '=', user)),
    from(toOthers.where('actor', '=', user)),
  ])
  return parts.reduce((all, next) => all.union(next))
}

/**
 * Rows are added at one end and removed at the other, so the first and last ids give the total without
 * counting millions of rows. Ids skipped by failed transactions are counted too.
 */
export async function countAuditEvents(
  db: Db<AccountTables>,
  filter: AuditFilter = {},
): Promise<number> {
  if (isFiltered(filter)) return countFiltered(db, filter)
  const { first, last } = await db
    .selectFrom('audit_events')
    .select(({ fn }) => [fn.min('id').as('first'), fn.max('id').as('last')])
    .executeTakeFirstOrThrow()
  return first === null || last === null ? 0 : last - first + 1
}

/** Counting stops here, so that a busy name does not cost a scan of millions of rows. */
const MAX_COUNTED = 10_000

async function countFiltered(db: Db<AccountTables>, filter: AuditFilter): Promise<number> {
  const { total } = await db
    .selectFrom(idsOf(db, filter, (ids) => ids.limit(MAX_COUNTED)).as('found'))
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return Math.min(Number(total), MAX_COUNTED)
}

export function deleteOldAuditEvents(db: Db<AccountTables>, before: Date, signal: AbortSignal) {
  return deleteUntil(db, { table: 'audit_events', key: 'id', column: 'at' }, before, signal)
}
