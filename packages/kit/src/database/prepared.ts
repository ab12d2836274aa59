import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import { directSqlite } from './direct-sqlite.ts'
import { type Engine, engineOf } from './engine.ts'

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
