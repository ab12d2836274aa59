import {
  type Db,
  type FromRow,
  fromRow,
  type PageRequest,
  selectPage,
  sortRows,
  toRow,
} from '@plinth/kit/database'
import type { ServiceKeyTables } from '@plinth/service-keys'
import type { Generated } from 'kysely'

type KeyEventRow = {
  id: Generated<number>
  at: string
  event: string
  actor: string | null
  subject: string
  address: string
  request_id: string | null
}

type NewRow = Omit<KeyEventRow, 'id'>

export type KeyTables = ServiceKeyTables & { key_events: KeyEventRow }

export const EVENT_SORTS = ['id', 'at']

/** Append-only: there is no update and no delete. */
export async function insertKeyEvent(db: Db<KeyTables>, event: FromRow<NewRow>): Promise<void> {
  await db.insertInto('key_events').values(toRow<NewRow>(event)).execute()
}

/** Newest first by default. */
export async function listKeyEvents(db: Db<KeyTables>, page: PageRequest) {
  const { rows, total } = await selectPage(db.selectFrom('key_events'), page, (all) =>
    sortRows(all, page.sort).orderBy('id', page.sort.at(-1)?.direction ?? 'desc'),
  )
  return { events: rows.map((row) => fromRow(row)), total }
}
