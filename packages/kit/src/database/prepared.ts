import {
  type Compilable,
  type CompiledQuery,
  DeleteQueryNode,
  InsertQueryNode,
  type Kysely,
  type RootOperationNode,
  UpdateQueryNode,
} from 'kysely'
import { type Engine, engineOf } from './engine.ts'
import { forManyKeys } from './postgres/many-keys.ts'
import { type Together, togetherOf } from './postgres/together.ts'

type Build<T, V, R> = (db: Kysely<T>, values: V) => Compilable<R>

/**
 * A statement that runs so often that its text is built once for each engine, and not for each
 * run. `build` must not look at the values, for it sees placeholders; the names are always the same.
 * `together` does the work of several on PostgreSQL, where `togetherOf` cannot tell how; outside of
 * transactions those of one turn, and those that come while two such are under way, are then sent as one.
 */
export function prepared<T, V extends object, R>(
  build: Build<T, V, R>,
  together?: Pick<Together, 'sql' | 'keys'>,
): (db: Kysely<T>, values: V) => Promise<R[]> {
  const built = new Map<Engine, Statement<R>>()
  const buildFor = (db: Kysely<T>, values: V): Statement<R> => {
    const compiled = build(db, placeholders(values)).compile()
    const statement = statementOf(db, compiled, { values: values as Values, together })
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

/** Takes the place of a value while the text of a statement is built. */
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

/**
 * `many` is the statement that looks up many keys at once, where this one looks up one; `together` the
 * one that does the work of many like this, also outside of transactions where it is shared. One that is
 * silent writes and returns no rows: all there is to learn from it is whether it failed.
 */
export type PreparedQuery<R = unknown> = CompiledQuery<R> & {
  many: CompiledQuery | undefined
  together: Together | undefined
  isShared: boolean
  isSilent: boolean
}

export function isPrepared<R>(query: CompiledQuery<R>): query is PreparedQuery<R> {
  return 'many' in query
}

/** `names` has the name of the value in each place; the others keep what the text was built with. */
type Statement<R> = { query: PreparedQuery<R>; names: (string | undefined)[] }

function statementOf<T, R>(
  db: Kysely<T>,
  compiled: CompiledQuery<R>,
  { values, together }: { values: Values; together: Pick<Together, 'sql' | 'keys'> | undefined },
): Statement<R> {
  const isPostgres = engineOf(db) === 'postgres'
  const node = isPostgres ? forManyKeys(compiled) : undefined
  const many = node && db.getExecutor().compileQuery(node, compiled.queryId)
  const kind = {
    isShared: isPostgres && together !== undefined,
    isSilent: isSilent(compiled.query),
  }
  const query = { ...compiled, ...kind, many, together: undefined }
  const names = query.parameters.map((value) =>
    value instanceof Placeholder ? value.name : undefined,
  )
  const own = together && { ...together, names: names.map((name) => name ?? '') }
  const joint = own ?? togetherOf(bind({ query, names }, values))
  return { query: { ...query, together: isPostgres ? joint : undefined }, names }
}

function isSilent(node: RootOperationNode): boolean {
  const writes = InsertQueryNode.is(node) || UpdateQueryNode.is(node) || DeleteQueryNode.is(node)
  return writes && node.returning === undefined
}

type Values = Record<string, unknown>

function bind<R>({ query, names }: Statement<R>, values: Values) {
  const parameters = names.map((name, place) =>
    name === undefined ? query.parameters[place] : values[name],
  )
  return { ...query, parameters }
}
