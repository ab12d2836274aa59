import { type Db, forUpdate, type PageRequest, preparedFind, type Sort } from '@plinth/kit'
import { type Selectable, type SelectQueryBuilder, sql } from 'kysely'
import type { AccountTables } from './tables.ts'

export type User = {
  id: number
  username: string
  email: string
  roles: string[]
  enabled: boolean
  createdAt: string
  passwordHash: string
}

export type NewUser = Omit<User, 'id'>

export const ADMIN_ROLE = 'ROLE_ADMIN'

/**
 * The new number of users is the new user's id, and a failed transaction takes both back: ids have
 * no gaps, so a page far down the list is found by id and not by counting up to it. Call it inside
 * a transaction.
 */
export async function insertUser(db: Db<AccountTables>, user: NewUser): Promise<User> {
  const { total: id } = await db
    .updateTable('user_total')
    .set({ total: sql`total + 1` })
    .returning('total')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('users')
    .values({
      id,
      username: user.username,
      email: user.email,
      password_hash: user.passwordHash,
      created_at: user.createdAt,
      ...stateColumns(user),
    })
    .execute()
  return { id, ...user }
}

const userById = preparedFind((db: Db<AccountTables>, id: number) =>
  db.selectFrom('users').selectAll().where('id', '=', id),
)

/** Asked for every request of every caller. */
export async function findUserById(db: Db<AccountTables>, id: number): Promise<User | undefined> {
  const row = await userById(db, id)
  return row && userOf(row)
}

export function findUserByUsername(
  db: Db<AccountTables>,
  username: string,
): Promise<User | undefined> {
  return findUser(db.selectFrom('users').selectAll().where('username', '=', username))
}

export function findUserByEmail(db: Db<AccountTables>, email: string): Promise<User | undefined> {
  return findUser(db.selectFrom('users').selectAll().where('email', '=', email))
}

/** Until the transaction ends nobody else changes this user, and nobody else signs in as him. */
export function lockUser(db: Db<AccountTables>, id: number): Promise<User | undefined> {
  return findUser(forUpdate(db, db.selectFrom('users').selectAll().where('id', '=', id)))
}

/** Always in the same order, so that two changes of administrators wait for each other. */
export async function lockEnabledAdmins(db: Db<AccountTables>): Promise<number[]> {
  const query = db
    .selectFrom('users')
    .select('id')
    .where(sql<boolean>`admin = 1`)
    .where('enabled', '=', 1)
    .orderBy('id')
  const rows = await forUpdate(db, query).execute()
  return rows.map(({ id }) => id)
}

export async function countUsers(db: Db<AccountTables>): Promise<number> {
  const row = await db.selectFrom('user_total').select('total').executeTakeFirstOrThrow()
  return row.total
}

export async function updateUserState(
  db: Db<AccountTables>,
  id: number,
  state: { enabled: boolean; roles: string[] },
): Promise<void> {
  await db.updateTable('users').set(stateColumns(state)).where('id', '=', id).execute()
}

export async function updatePasswordHash(
  db: Db<AccountTables>,
  id: number,
  passwordHash: string,
): Promise<void> {
  await db.updateTable('users').set({ password_hash: passwordHash }).where('id', '=', id).execute()
}

function stateColumns({ enabled, roles }: { enabled: boolean; roles: string[] }) {
  return {
    enabled: enabled ? 1 : 0,
    roles: JSON.stringify(roles),
    admin: roles.includes(ADMIN_ROLE) ? 1 : 0,
  }
}

type UserRow = Selectable<AccountTables['users']>

async function findUser(query: {
  executeTakeFirst(): Promise<UserRow | undefined>
}): Promise<User | undefined> {
  const row = await query.executeTakeFirst()
  return row && userOf(row)
}

function userOf(row: UserRow): User {
  return {
    id: row.id,
    username: row.username,
    email: row.email,
    roles: JSON.parse(row.roles) as string[],
    enabled: row.enabled === 1,
    createdAt: row.created_at,
    passwordHash: row.password_hash,
  }
}

export const USER_ROLE = 'ROLE_USER'

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
