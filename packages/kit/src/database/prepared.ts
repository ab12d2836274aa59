import {
  type Compilable,
  type CompiledQuery,
  DeleteQueryNode,
  InsertQueryNode,
  type RootOperationNode,
  UpdateQueryNode,
} from 'kysely'
import { type Db, type Engine, engineOf } from './engine.ts'
import { forManyKeys } from './postgres/many-keys.ts'
import type { Together } from './postgres/together.ts'

type Build<T, V, R> = (db: Db<T>, values: V) => Compilable<R>

/**
 * A frequent statement whose SQL is built once for each engine instead of on every run. `build` must not
 * inspect the values, because it gets placeholders; every run must pass the same value names.
 * `together` is a PostgreSQL statement that does the work of several runs outside of transactions: those of one turn
 * of the event loop, and those that arrive while two groups are in flight, are sent as one.
 */
export function prepared<T, V extends object, R>(
  build: Build<T, V, R>,
  together?: Pick<Together, 'sql' | 'keys'>,
): (db: Db<T>, values: V) => Promise<R[]> {
  const built = new Map<Engine, Statement<R>>()
  const buildFor = (db: Db<T>, values: V): Statement<R> => {
    const compiled = build(db, placeholders(values)).compile()
    const statement = statementOf(db, compiled, together)
    built.set(engineOf(db), statement)
    return statement
  }
  return async (db, values) => {
    const statement = built.get(engineOf(db)) ?? buildFor(db, values)
    const query = bind(statement, values as Values)
    const { rows } = await db.getExecutor().executeQuery<R>(query)
    return rows
  }
}

/** Stands in for a value while the SQL of a statement is built. */
class Placeholder {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

function placeholders<V extends object>(values: V): V {
  const entries = Object.keys(values).map((name) => [name, new Placeholder(name)])
  return Object.fromEntries(entries)
}

export type PreparedQuery<R = unknown> = CompiledQuery<R> & {
  /** Looks up many keys at once, if this statement looks up one. */
  many: CompiledQuery | undefined
  /** Does the work of many statements like this one. */
  together: Together | undefined
  /** Writes and returns no rows: the caller can only learn whether it failed. */
  isSilent: boolean
}

export function isPrepared<R>(query: CompiledQuery<R>): query is PreparedQuery<R> {
  return 'many' in query
}

/** `names` maps each parameter to a value; a parameter without a name keeps the constant it was built with. */
type Statement<R> = { query: PreparedQuery<R>; names: (string | undefined)[] }

function statementOf<T, R>(
  db: Db<T>,
  compiled: CompiledQuery<R>,
  together: Pick<Together, 'sql' | 'keys'> | undefined,
): Statement<R> {
  const isPostgres = engineOf(db) === 'postgres'
  const node = isPostgres ? forManyKeys(compiled) : undefined
  const many = node && db.getExecutor().compileQuery(node, compiled.queryId)
  const names = compiled.parameters.map((value) =>
    value instanceof Placeholder ? value.name : undefined,
  )
  const named = together && { ...together, names: names.map((name) => name ?? '') }
  const query = {
    ...compiled,
    isSilent: isSilent(compiled.query),
    many,
    together: isPostgres ? named : undefined,
  }
  return { query, names }
}

function isSilent(node: RootOperationNode): boolean {
  const writes = InsertQueryNode.is(node) || UpdateQueryNode.is(node) || DeleteQueryNode.is(node)
  return writes && node.returning === undefined
}

type Values = Record<string, unknown>

function bind<R>({ query, names }: Statement<R>, values: Values) {
  const parameters = names.map((name, index) =>
    name === undefined ? query.parameters[index] : values[name],
  )
  return { ...query, parameters }
}
