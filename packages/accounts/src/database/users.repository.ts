import { randomUUID } from 'node:crypto'
import {
  type Db,
  forUpdate,
  type PageRequest,
  prepared,
  type Sort,
  sortRows,
} from '@plinth/kit/database'
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
  secondFactor: boolean
  /** The day of the last sign-in or refresh; empty means never. */
  lastSeenOn: string
  verified: boolean
  passwordExpired: boolean
  /** Set while the account awaits erasure; it is disabled meanwhile. */
  deletion?: Deletion & { at: string }
}

export type Deletion = { by: 'user' | 'administrator'; wasEnabled: boolean }

export type NewUser = Omit<
  User,
  'id' | 'secondFactor' | 'lastSeenOn' | 'verified' | 'passwordExpired' | 'deletion'
>

/** A registration whose password is hashed; its address may still await confirmation. */
export type HashedRegistration = Pick<User, 'username' | 'email' | 'passwordHash'>

export const ADMIN_ROLE = 'ROLE_ADMIN'
export const USER_ROLE = 'ROLE_USER'

/** The hash of a user who signs in without a password: none matches it. */
export const NO_PASSWORD = ''

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
  const fresh = { secondFactor: false, lastSeenOn: '', verified: false, passwordExpired: false }
  return { id, ...fresh, ...user }
}

const userById = prepared((db: Db<AccountTables>, { id }: { id: number }) =>
  db.selectFrom('users').selectAll().where('id', '=', id),
)

export async function findUserById(db: Db<AccountTables>, id: number): Promise<User | undefined> {
  const [row] = await userById(db, { id })
  return row && userOf(row)
}

// Looks up by a single key, so that PostgreSQL lookups of one event-loop turn are batched into one query.
const userOfSession = prepared((db: Db<AccountTables>, { sessionId }: { sessionId: number }) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .selectAll('users')
    .select('sessions.state as session_state')
    .where('sessions.id', '=', sessionId),
)

/** Finds the user if enabled and the session is not revoked. Runs for every authenticated request. */
export async function findCaller(
  db: Db<AccountTables>,
  { userId, sessionId }: { userId: string; sessionId: string },
): Promise<User | undefined> {
  const [row] = await userOfSession(db, { sessionId: Number(sessionId) })
  if (row?.id !== Number(userId) || row.session_state === 'revoked') return undefined
  const user = userOf(row)
  return user.enabled ? user : undefined
}

export function findUserByUsername(
  db: Db<AccountTables>,
  username: string,
): Promise<User | undefined> {
  return findUser(db.selectFrom('users').selectAll().where('username', '=', username))
}

/** The first form of a name that an account has. */
export async function findUserByForms(
  db: Db<AccountTables>,
  usernames: string[],
): Promise<User | undefined> {
  for (const username of usernames) {
    const user = await findUserByUsername(db, username)
    if (user) return user
  }
  return undefined
}

export function findUserByEmail(db: Db<AccountTables>, email: string): Promise<User | undefined> {
  return findUser(db.selectFrom('users').selectAll().where('email', '=', email))
}

const userForUpdate = prepared((db: Db<AccountTables>, { id }: { id: number }) =>
  forUpdate(db, db.selectFrom('users').selectAll().where('id', '=', id)),
)

/** Until the transaction ends, nothing else can change this user or sign them in. */
export async function lockUser(db: Db<AccountTables>, id: number): Promise<User | undefined> {
  const [row] = await userForUpdate(db, { id })
  return row && userOf(row)
}

/** Always locks in the same order, so that two changes to administrators do not deadlock. */
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

export async function listEnabledAdmins(db: Db<AccountTables>): Promise<User[]> {
  const rows = await db
    .selectFrom('users')
    .selectAll()
    .where('admin', '=', 1)
    .where('enabled', '=', 1)
    .orderBy('id')
    .execute()
  return rows.map(userOf)
}

export async function countUsers(db: Db<AccountTables>): Promise<number> {
  const { total } = await db
    .selectFrom('users')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return Number(total)
}

export async function updateUserState(
  db: Db<AccountTables>,
  id: number,
  state: { enabled: boolean; roles: string[] },
): Promise<void> {
  await db.updateTable('users').set(stateColumns(state)).where('id', '=', id).execute()
}

const updateHash = prepared((db: Db<AccountTables>, { id, hash }: { id: number; hash: string }) =>
  db.updateTable('users').set({ password_hash: hash, password_expired: 0 }).where('id', '=', id),
)

export async function updatePasswordHash(
  db: Db<AccountTables>,
  id: number,
  passwordHash: string,
): Promise<void> {
  await updateHash(db, { id, hash: passwordHash })
}

/** The address must have been confirmed. */
export async function updateEmail(db: Db<AccountTables>, id: number, email: string): Promise<void> {
  await db.updateTable('users').set({ email, verified: 1 }).where('id', '=', id).execute()
}

/** Frees the address of an account for its owner. Domains below `.invalid` never exist (RFC 2606). */
export async function releaseEmail(db: Db<AccountTables>, id: number): Promise<void> {
  const email = `${randomUUID()}@unclaimed.invalid`
  await db.updateTable('users').set({ email, verified: 0 }).where('id', '=', id).execute()
}

/** Does nothing if the account's address has changed in the meantime. */
export async function markVerified(
  db: Db<AccountTables>,
  { id, email }: Pick<User, 'id' | 'email'>,
): Promise<void> {
  await db
    .updateTable('users')
    .set({ verified: 1 })
    .where('id', '=', id)
    .where('email', '=', email)
    .execute()
}

const updateLastSeen = prepared((db: Db<AccountTables>, { id, day }: { id: number; day: string }) =>
  db.updateTable('users').set({ last_seen_on: day }).where('id', '=', id),
)

/** Writes at most once a day per user, for administrators who look for unused accounts. */
export async function markSeen(
  db: Db<AccountTables>,
  { id, lastSeenOn }: Pick<User, 'id' | 'lastSeenOn'>,
  now: Date,
): Promise<void> {
  const day = now.toISOString().slice(0, 10)
  if (day > lastSeenOn) await updateLastSeen(db, { id, day })
}

export async function expirePassword(db: Db<AccountTables>, id: number): Promise<void> {
  await db.updateTable('users').set({ password_expired: 1 }).where('id', '=', id).execute()
}

/** Called by the host, with the user's row locked, when the user gets a second factor or has none left. */
export async function updateSecondFactor(
  db: Db<AccountTables>,
  id: number,
  secondFactor: boolean,
): Promise<void> {
  const second_factor = secondFactor ? 1 : 0
  await db.updateTable('users').set({ second_factor }).where('id', '=', id).execute()
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

export function userOf(row: UserRow): User {
  const { deletes_at: at, deletion } = row
  return {
    id: row.id,
    username: row.username,
    email: row.email,
    roles: JSON.parse(row.roles) as string[],
    enabled: row.enabled === 1,
    createdAt: row.created_at,
    passwordHash: row.password_hash,
    verified: row.verified === 1,
    passwordExpired: row.password_expired === 1,
    ...(at !== null && deletion !== null && { deletion: { at, ...JSON.parse(deletion) } }),
    secondFactor: row.second_factor === 1,
    lastSeenOn: row.last_seen_on,
  }
}

/** The properties a page of users can be sorted by; each has an index. */
export const USER_SORTS = ['id', 'username', 'email', 'createdAt', 'enabled']

/** Skips to the page within an index, and reads only the rows of that page. */
export async function listUsers(db: Db<AccountTables>, page: PageRequest): Promise<User[]> {
  const ids = inOrder(db.selectFrom('users').select('id'), page.sort)
    .limit(page.size)
    .offset(page.offset)
  const query = db.selectFrom('users').selectAll().where('id', 'in', ids)
  const rows = await inOrder(query, page.sort).execute()
  return rows.map(userOf)
}

/** Ties are ordered by id in the same direction, so that the index alone gives the order. */
function inOrder<O>(query: SelectQueryBuilder<AccountTables, 'users', O>, sorts: Sort[]) {
  const sorted = sortRows(query, sorts)
  const complete = sorts.some(({ property }) => property === 'id')
  return complete ? sorted : sorted.orderBy('id', sorts.at(-1)?.direction)
}
