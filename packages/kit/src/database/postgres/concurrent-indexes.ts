import { sql } from 'kysely'
import type { Db } from '../engine.ts'
import { inTransaction } from '../transaction.ts'

/** By name, what follows `on`: `{ files_by_size: 'files (owner_id, size_bytes)' }`. */
export type Indexes = Record<string, string>

type Unbuilt = { name: string; definition: string; isLeftOver: boolean }

/** The indexes that are not there, and those left over from a build that has not ended, which no query uses. */
export async function listUnbuilt<T>(db: Db<T>, indexes: Indexes): Promise<Unbuilt[]> {
  const names = Object.keys(indexes)
  if (names.length === 0) return []
  const { rows } = await sql<{ name: string; isBuilt: boolean }>`
    select relname as name, indisvalid and indisready as "isBuilt"
    from pg_index join pg_class on pg_class.oid = indexrelid
      join pg_namespace on pg_namespace.oid = relnamespace
    where nspname = current_schema() and relname in (${sql.join(names)})`.execute(db)
  const found = new Map(rows.map(({ name, isBuilt }) => [name, isBuilt]))
  return Object.entries(indexes)
    .filter(([name]) => !found.get(name))
    .map(([name, definition]) => ({ name, definition, isLeftOver: found.has(name) }))
}

/** Builds what is missing without keeping others from writing. Only one node may do so at a time. */
export async function buildIndexes<T>(db: Db<T>, indexes: Indexes): Promise<void> {
  const begun = await listUnbuilt(db, indexes)
  if (begun.length === 0) return
  await untilNoneIsBuilt(db, begun)
  for (const { name, definition, isLeftOver } of await listUnbuilt(db, indexes)) {
    if (isLeftOver && !(await isDropped(db, name, indexes))) continue
    await build(db, name, definition)
  }
}

/** The build that was waited for unlocks the table just before it commits: then its index is no longer left over. */
async function isDropped<T>(db: Db<T>, name: string, indexes: Indexes): Promise<boolean> {
  try {
    await sql`drop index concurrently ${sql.id(name)}`.execute(db)
    return true
  } catch (error) {
    const unbuilt = await listUnbuilt(db, indexes)
    if (unbuilt.some((other) => other.name === name)) throw error
    return false
  }
}

/**
 * After a node was killed, the server goes on building the index that it had begun. `lock table` waits for that without
 * a snapshot, which the build would wait for in turn.
 */
async function untilNoneIsBuilt<T>(db: Db<T>, begun: Unbuilt[]): Promise<void> {
  const tables = new Set(begun.map(({ definition }) => definition.split(' ', 1)[0] as string))
  const lock = sql`lock table ${sql.join([...tables].map((table) => sql.table(table)))}
    in share update exclusive mode`
  await inTransaction(db, (transaction) => lock.execute(transaction), { isPatient: true })
}

/**
 * A time limit can only be lifted in a transaction if a pooler has many nodes share a session, and indexes cannot be
 * built concurrently in one: with such a limit, writes wait for the index.
 */
async function build<T>(db: Db<T>, name: string, definition: string): Promise<void> {
  const on = sql`${sql.id(name)} on ${sql.raw(definition)}`
  const { rows } = await sql<{ statement_timeout: string }>`show statement_timeout`.execute(db)
  if (rows[0]?.statement_timeout === '0') {
    await sql`create index concurrently ${on}`.execute(db)
    return
  }
  const create = sql`create index ${on}`
  await inTransaction(db, (transaction) => create.execute(transaction), { isPatient: true })
}
