import type { Db, PageRequest, Sort } from '@plinth/kit'
import type { SelectQueryBuilder } from 'kysely'
import type { AccountTables } from './tables.ts'
import { countUsers, type User, userOf } from './users.repository.ts'

/** What a users page can be sorted by, and the column behind it; each has an index. */
const SORT_COLUMNS = {
  id: 'id',
  username: 'username',
  email: 'email',
  createdAt: 'created_at',
  enabled: 'enabled',
} as const

export const USER_SORTS = Object.keys(SORT_COLUMNS)

const BY_ID: Sort = { property: 'id', direction: 'asc' }

export async function listUsers(db: Db<AccountTables>, page: PageRequest): Promise<User[]> {
  const [first = BY_ID] = page.sort
  const rows =
    first.property === 'id' ? await listById(db, page, first.direction) : await listSorted(db, page)
  return rows.map(userOf)
}

/** Ids have no gaps, so the page is a range of them; what else it is sorted by changes nothing. */
async function listById(db: Db<AccountTables>, page: PageRequest, direction: Sort['direction']) {
  const after = direction === 'asc' ? page.offset : (await countUsers(db)) - page.offset - page.size
  return db
    .selectFrom('users')
    .selectAll()
    .where('id', '>', after)
    .where('id', '<=', after + page.size)
    .orderBy('id', direction)
    .execute()
}

/** Counts up to the page in an index alone and reads only the rows of the page itself. */
function listSorted(db: Db<AccountTables>, page: PageRequest) {
  const ids = inOrder(db.selectFrom('users').select('id'), page.sort)
    .limit(page.size)
    .offset(page.offset)
  return inOrder(db.selectFrom('users').selectAll().where('id', 'in', ids), page.sort).execute()
}

/** Equals follow in the same direction: then the index alone gives the order. */
function inOrder<O>(query: SelectQueryBuilder<AccountTables, 'users', O>, sorts: Sort[]) {
  let sorted = query
  for (const { property, direction } of sorts)
    sorted = sorted.orderBy(SORT_COLUMNS[property as keyof typeof SORT_COLUMNS], direction)
  const complete = sorts.some(({ property }) => property === 'id')
  return complete ? sorted : sorted.orderBy('id', sorts.at(-1)?.direction)
}
