import { type Db, engineOf } from '@plinth/kit/database'
import { type AliasableExpression, type RawBuilder, sql } from 'kysely'
import type { AccountTables } from './tables.ts'
import { ADMIN_ROLE, type User, userOf } from './users.repository.ts'

export type UserFilter = {
  /** Prefixes of the username or the e-mail address, in normal form; users match any of them. */
  prefixes?: string[]
  /** Parts of the username or the e-mail address, in normal form, of at least `MIN_CONTAINED` characters. */
  parts?: string[]
  role?: string
  enabled?: boolean
  verified?: boolean
  createdFrom?: string
  createdTo?: string
  /** Whether a sign-in needs a second factor. */
  mfa?: boolean
  /** Days; users who were never seen sort before all of them. */
  lastSeenFrom?: string
  lastSeenTo?: string
}

/** Where a page ended: the index that the search walks, and the last key on it. */
export type Position = { walk: Walk; key: string; id: number }

export type Walk = 'username' | 'email' | 'parts' | 'created' | 'seen' | 'id'

/** With a prefix, matching usernames come first, then matching e-mail addresses. */
export function walksOf(filter: UserFilter): Walk[] {
  const { prefixes, parts, createdFrom, createdTo, lastSeenFrom, lastSeenTo } = filter
  if (prefixes !== undefined) return ['username', 'email']
  if (parts !== undefined) return ['parts']
  if (createdFrom !== undefined || createdTo !== undefined) return ['created']
  return lastSeenFrom !== undefined || lastSeenTo !== undefined ? ['seen'] : ['id']
}

/** Keyset pagination: however many users there are, a page costs only the rows it reads. */
export function matchingUsers(
  db: Db<AccountTables>,
  filter: UserFilter,
  { walk, after, most }: { walk: Walk; after?: Position; most: number },
) {
  const users = withState(db, filter)
  if (walk === 'username' || walk === 'email') {
    const text = inBytes(db, walk)
    const found = users
      .where(({ or }) => or(beginning(db, walk, filter.prefixes)))
      .$if(walk === 'email', (all) =>
        all.where(({ not, or }) => not(or(beginning(db, 'username', filter.prefixes)))),
      )
      .$if(after !== undefined, (all) => all.where(sql<boolean>`${text} > ${after?.key}`))
    return found.selectAll().orderBy(text).limit(most)
  }
  if (walk === 'id')
    return users
      .$if(after !== undefined, (all) => all.where('id', '>', after?.id ?? 0))
      .selectAll()
      .orderBy('id')
      .limit(most)
  const column = walk === 'created' ? 'created_at' : 'last_seen_on'
  return users
    .$if(after !== undefined, (all) =>
      all.where(sql<boolean>`(${sql.ref(column)}, id) > (${after?.key}, ${after?.id})`),
    )
    .selectAll()
    .orderBy(column)
    .orderBy('id')
    .limit(most)
}

export async function listMatching(
  ...search: Parameters<typeof matchingUsers>
): Promise<{ user: User; position: Position }[]> {
  const rows = await matchingUsers(...search).execute()
  const { walk } = search[2]
  return rows.map((row) => {
    const { username, email, created_at: created, last_seen_on: seen } = row
    const keys = { username, email, created, seen, parts: '', id: '' }
    return { user: userOf(row), position: { walk, key: keys[walk], id: row.id } }
  })
}

/** Counts the matches, up to `most`. */
export async function countMatching(
  db: Db<AccountTables>,
  filter: UserFilter,
  most: number,
): Promise<number> {
  const { prefixes } = filter
  const found = withState(db, filter)
    .$if(prefixes !== undefined, (all) =>
      all.where(({ or }) =>
        or([...beginning(db, 'username', prefixes), ...beginning(db, 'email', prefixes)]),
      ),
    )
    .select('id')
    .limit(most)
  return countOf(db, found)
}

export async function countOf(
  db: Db<AccountTables>,
  found: AliasableExpression<{ [column: string]: unknown }>,
): Promise<number> {
  const { total } = await db
    .selectFrom(found.as('found'))
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return Number(total)
}

function withState(db: Db<AccountTables>, filter: UserFilter) {
  return db.selectFrom('users').where(({ and }) => and(stateOf(filter)))
}

/** All of the filter but names. */
export function stateOf(filter: UserFilter): RawBuilder<boolean>[] {
  const { role, enabled, verified, mfa, createdFrom, createdTo, lastSeenFrom, lastSeenTo } = filter
  const flag = (value: boolean) => (value ? 1 : 0)
  const conditions: RawBuilder<boolean>[] = []
  if (role === ADMIN_ROLE) conditions.push(sql`admin = 1`)
  else if (role !== undefined) conditions.push(sql`roles like ${`%"${role}"%`}`)
  if (enabled !== undefined) conditions.push(sql`enabled = ${flag(enabled)}`)
  if (verified !== undefined) conditions.push(sql`verified = ${flag(verified)}`)
  if (mfa !== undefined) conditions.push(sql`second_factor = ${flag(mfa)}`)
  if (createdFrom !== undefined) conditions.push(sql`created_at >= ${createdFrom}`)
  if (createdTo !== undefined) conditions.push(sql`created_at < ${createdTo}`)
  if (lastSeenFrom !== undefined) conditions.push(sql`last_seen_on >= ${lastSeenFrom}`)
  if (lastSeenTo !== undefined) conditions.push(sql`last_seen_on < ${lastSeenTo}`)
  return conditions
}

/** In byte order, all text with the same prefix is one range. */
function beginning(db: Db<AccountTables>, column: 'username' | 'email', prefixes: string[] = []) {
  const text = inBytes(db, column)
  return prefixes.map(
    (prefix) => sql<boolean>`(${text} >= ${prefix} and ${text} < ${`${prefix}\u{10ffff}`})`,
  )
}

function inBytes(db: Db<AccountTables>, column: 'username' | 'email') {
  const text = sql.ref<string>(column)
  return engineOf(db) === 'postgres' ? sql<string>`${text} collate "C"` : text
}
