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

/**
 * A statement that runs so often that its text is built once for each engine, and not for each
 * run. `build` must not look at the values, for it sees placeholders; the names are always the same.
 */
export function prepared<T, V extends object, R>(
  build: (db: Kysely<T>, values: V) => Compilable<R>,
): (db: Kysely<T>, values: V) => Promise<R[]> {
  const built = new Map<Engine, CompiledQuery<R>>()
  return async (db, values) => {
    const engine = engineOf(db)
    const query = built.get(engine) ?? build(db, placeholders(values)).compile()
    built.set(engine, query)
    return run(db, query, bind(query, values as Record<string, unknown>))
  }
}

function placeholders<V extends object>(values: V): V {
  const entries = Object.keys(values).map((name) => [name, new Placeholder(name)])
  return Object.fromEntries(entries)
}

function bind({ parameters }: CompiledQuery, values: Record<string, unknown>): unknown[] {
  return parameters.map((value) => (value instanceof Placeholder ? values[value.name] : value))
}

async function run<T, R>(
  db: Kysely<T>,
  query: CompiledQuery<R>,
  parameters: unknown[],
): Promise<R[]> {
  const statement = directSqlite(db)?.prepare(query.sql)
  if (statement?.reader) return statement.all(parameters) as R[]
  if (!statement) return (await db.executeQuery<R>({ ...query, parameters })).rows
  statement.run(parameters)
  return []
}
