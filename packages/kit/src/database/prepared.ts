import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import { type Engine, engineOf } from './engine.ts'
import type { Db } from './open.ts'
import { directSqlite } from './sqlite/direct.ts'
import { isBusy } from './sqlite/driver.ts'
import { readerOf } from './sqlite/reader.ts'

/** Takes the place of a value while the text of a statement is built. */
class Placeholder {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

type Build<T, V, R> = (db: Kysely<T>, values: V) => Compilable<R>

type Outcome<R> = { rows: R[]; affected: number }

/** `names` has the name of the value in each place; the others keep what the text was built with. */
type Statement<R> = { query: CompiledQuery<R>; names: (string | undefined)[] }

/**
 * A statement that runs so often that its text is built once for each engine, and not for each
 * run. `build` must not look at the values, for it sees placeholders; the names are always the same.
 */
export function prepared<T, V extends object, R>(
  build: Build<T, V, R>,
): (db: Kysely<T>, values: V) => Promise<R[]> {
  const run = runnerOf(build)
  return async (db, values) => (await run(db, values)).rows
}

/** Like `prepared`, for a statement that only writes: tells how many rows it touched. */
export function preparedWrite<T, V extends object, R>(
  build: Build<T, V, R>,
): (db: Kysely<T>, values: V) => Promise<number> {
  const run = runnerOf(build)
  return async (db, values) => (await run(db, values)).affected
}

function runnerOf<T, V extends object, R>(build: Build<T, V, R>) {
  const built = new Map<Engine, Statement<R>>()
  const statementFor = (db: Kysely<T>, values: V): Statement<R> => {
    const query = build(db, placeholders(values)).compile()
    const names = query.parameters.map((value) =>
      value instanceof Placeholder ? value.name : undefined,
    )
    built.set(engineOf(db), { query, names })
    return { query, names }
  }
  return (db: Kysely<T>, values: V): Outcome<R> | Promise<Outcome<R>> => {
    const statement = built.get(engineOf(db)) ?? statementFor(db, values)
    return run(db, statement.query, bind(statement, values as Record<string, unknown>))
  }
}

function placeholders<V extends object>(values: V): V {
  const entries = Object.keys(values).map((name) => [name, new Placeholder(name)])
  return Object.fromEntries(entries)
}

function bind<R>({ query, names }: Statement<R>, values: Record<string, unknown>): unknown[] {
  return names.map((name, place) => (name === undefined ? query.parameters[place] : values[name]))
}

function run<T, R>(
  db: Kysely<T>,
  query: CompiledQuery<R>,
  parameters: unknown[],
): Outcome<R> | Promise<Outcome<R>> {
  const statement = directSqlite(db)?.prepare(query.sql)
  if (!statement) return send(db, { ...query, parameters })
  if (statement.reader) return { rows: statement.all(parameters) as R[], affected: 0 }
  return { rows: [], affected: Number(statement.run(parameters).changes) }
}

async function send<T, R>(db: Kysely<T>, query: CompiledQuery<R>): Promise<Outcome<R>> {
  const { rows, numAffectedRows } = await db.executeQuery(query)
  return { rows, affected: Number(numAffectedRows ?? 0) }
}

/**
 * A look-up of one row by one key that many requests make. Its text is built once, and on SQLite it
 * is answered by a connection that only reads: it sees all that was committed when it was asked, and
 * nothing of a transaction that is still open. Given a transaction, it is part of that one.
 *
 * No named statement on PostgreSQL: once another node's migration has added a column, one that
 * selects all of them fails on every connection that knows it.
 */
export function preparedFind<T, K, R>(
  build: (db: Db<T>, key: K) => Compilable<R>,
): (db: Db<T>, key: K) => Promise<R | undefined> {
  const rows = prepared((db: Db<T>, { key }: { key: K }) => build(db, key))
  const first = async (db: Db<T>, key: K) => (await rows(db, { key }))[0]
  let text: string | undefined
  return (db, key) => {
    const reader = readerOf(db)
    if (!reader) return first(db, key)
    text ??= textOf(build(db, key))
    return reader.get(text, key).catch((error) => {
      if (isBusy(error)) return first(db, key)
      throw error
    }) as Promise<R | undefined>
  }
}

function textOf<R>(query: Compilable<R>): string {
  const { sql, parameters } = query.compile()
  if (parameters.length !== 1) throw new Error(`Not one parameter but others: ${sql}`)
  return sql
}
