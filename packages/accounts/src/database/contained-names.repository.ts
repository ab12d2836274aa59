import { type Db, engineOf, inTransaction } from '@plinth/kit/database'
import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { AccountTables } from './tables.ts'
import { countOf, stateOf, type UserFilter } from './user-search.repository.ts'
import { type User, userOf } from './users.repository.ts'

/** The index has every three characters in a row of a name: shorter text is not in it. */
export const MIN_CONTAINED = 3

type Containing = {
  /** In normal form, of at least `MIN_CONTAINED` characters each; users match any of them. */
  texts: string[]
  filter: UserFilter
  /** Users after this id, in the order of their ids. */
  after: number
  most: number
  /** Up to how many matches are counted. */
  mostCounted: number
}

type Found = { users: User[]; total: number }

/** Finds users whose username or e-mail address contains a text. */
export function listContaining(db: Db<AccountTables>, search: Containing): Promise<Found> {
  return engineOf(db) === 'postgres' ? onPostgres(db, search) : onSqlite(db, search)
}

/** The full-text index walks its matches by id, and stops when there are enough. */
async function onSqlite(db: Db<AccountTables>, search: Containing): Promise<Found> {
  const phrases = search.texts.map((text) => `"${text.replaceAll('"', '""')}"`).join(' OR ')
  // A cross join, because SQLite starts with its left side: an index of users would be walked for every match.
  const matching = db
    .selectFrom('user_names')
    .crossJoin('users')
    .where(sql<boolean>`user_names match ${phrases}`)
    .where(sql<boolean>`users.id = user_names.rowid`)
    .where(({ and }) => and(stateOf(search.filter)))
  const rows = await matching
    .selectAll('users')
    .where('user_names.rowid', '>', search.after)
    .orderBy('user_names.rowid')
    .limit(search.most)
    .execute()
  const counted = matching.select('user_names.rowid').limit(search.mostCounted)
  return { users: rows.map(userOf), total: await countOf(db, counted) }
}

const WALKED = 2000
/** If a page is full of them, the thousand that are counted are mostly among these. */
const WALKED_TO_COUNT = 40_000

/**
 * The index of PostgreSQL cannot stop early: it collects every match. So text that many names contain, such as the
 * domain of most addresses, is looked for in the next users first, and they are enough for a page.
 */
async function onPostgres(db: Db<AccountTables>, search: Containing): Promise<Found> {
  const { filter, after, most, mostCounted, texts } = search
  const next = (walked: number, from: number) =>
    db
      .selectFrom(
        db
          .selectFrom('users')
          .selectAll()
          .where('id', '>', from)
          .orderBy('id')
          .limit(walked)
          .as('users'),
      )
      .where(({ and, or }) => and([...stateOf(filter), or(texts.map(holds))]))
  const near = await next(WALKED, after).selectAll().orderBy('id').limit(most).execute()
  if (near.length < most) return byIndex(db, search)
  const walked = await countOf(db, next(WALKED_TO_COUNT, 0).select('id').limit(mostCounted))
  const total = walked === mostCounted ? walked : await countByIndex(db, search)
  return { users: near.map(userOf), total }
}

/** The page and the count from one use of the index. */
function byIndex(db: Db<AccountTables>, search: Containing): Promise<Found> {
  const { after, most, mostCounted } = search
  return withIndexOnly(db, async (only) => {
    const { rows } = await sql<Selectable<AccountTables['users']> & { total: number }>`
      with found as materialized (${matchingIds(only, search)}),
        shown as (select id from found where id > ${after} order by id limit ${most})
      select users.*, (select count(*) from found) as total from users
      where id in (select id from shown) order by id`.execute(only)
    const total = rows[0]?.total ?? (await countOf(only, matchingIds(only, search)))
    return { users: rows.map(userOf), total: Math.min(Number(total), mostCounted) }
  })
}

function countByIndex(db: Db<AccountTables>, search: Containing): Promise<number> {
  return withIndexOnly(db, (only) =>
    countOf(only, matchingIds(only, search).limit(search.mostCounted)),
  )
}

/** A plan without the index would cut every name into its parts, which takes seconds. */
function withIndexOnly<R>(
  db: Db<AccountTables>,
  work: (db: Db<AccountTables>) => Promise<R>,
): Promise<R> {
  return inTransaction(db, async (transaction) => {
    await sql`set local enable_seqscan = off`.execute(transaction)
    return work(transaction)
  })
}

function matchingIds(db: Db<AccountTables>, { texts, filter }: Containing) {
  const indexed = texts.map(
    (text) => sql<boolean>`(${TRIGRAMS} @> ${trigramsOf(text)}::text[] and ${holds(text)})`,
  )
  return db
    .selectFrom('users')
    .select('id')
    .where(({ and, or }) => and([...stateOf(filter), or(indexed)]))
}

/** Exactly the expression of the index `users_trigrams`; see its migration. */
const TRIGRAMS = sql.raw<string[]>(trigramsIn(`(username || ' ' || email)`))

function trigramsIn(names: string): string {
  const parts = [names, `substr(${names}, 2)`, `substr(${names}, 3)`].map(
    (text) => `regexp_replace(${text}, '(...)', E'\\\\1\\n', 'g')`,
  )
  return `string_to_array(${parts.join(` || E'\\n' || `)}, E'\\n')`
}

function trigramsOf(text: string): string[] {
  const characters = [...text]
  return characters.slice(2).map((_, index) => characters.slice(index, index + 3).join(''))
}

function holds(text: string): RawBuilder<boolean> {
  return sql<boolean>`(strpos(username, ${text}) > 0 or strpos(email, ${text}) > 0)`
}
