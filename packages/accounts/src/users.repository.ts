import { type Db, forUpdate, type PageRequest } from '@plinth/kit'
import { type Selectable, sql } from 'kysely'
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

/** What a users page can be sorted by, and the column behind it; each has an index. */
const SORT_COLUMNS = {
  id: 'id',
  username: 'username',
  email: 'email',
  createdAt: 'created_at',
  enabled: 'enabled',
} as const

export const USER_SORTS = Object.keys(SORT_COLUMNS)

/** Inserts and counts together: call it inside a transaction. */
export async function insertUser(db: Db<AccountTables>, user: NewUser): Promise<User> {
  const { id } = await db
    .insertInto('users')
    .values({
      username: user.username,
      email: user.email,
      password_hash: user.passwordHash,
      created_at: user.createdAt,
      ...stateColumns(user),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db.updateTable('user_total').set({ total: sql`total + 1` }).execute()
  return { id, ...user }
}

export function findUserById(db: Db<AccountTables>, id: number): Promise<User | undefined> {
  return findUser(db.selectFrom('users').selectAll().where('id', '=', id))
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

export async function listUsers(db: Db<AccountTables>, page: PageRequest): Promise<User[]> {
  let query = db.selectFrom('users').selectAll().limit(page.size).offset(page.offset)
  for (const { property, direction } of page.sort) {
    query = query.orderBy(SORT_COLUMNS[property as keyof typeof SORT_COLUMNS], direction)
  }
  const sortedById = page.sort.some(({ property }) => property === 'id')
  const rows = await (sortedById ? query : query.orderBy('id')).execute()
  return rows.map(userOf)
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
