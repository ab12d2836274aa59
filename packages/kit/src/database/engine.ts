import {
  type ColumnDataType,
  type ColumnDefinitionBuilder,
  type CompiledQuery,
  DefaultQueryExecutor,
  type DialectAdapter,
  type Kysely,
  PostgresAdapter,
  type QueryCompiler,
  type QueryResult,
} from 'kysely'
import { databaseUnavailable } from '../problems.ts'
import { withStatementSpan } from '../tracing/statements.ts'
import { currentTrace } from '../tracing/trace-context.ts'

/** A connection or a transaction: a repository function takes either. */
export type Db<T> = Kysely<T>

export type Engine = 'sqlite' | 'postgres'

/** Which engine a connection or a transaction speaks to. */
export function engineOf<T>(db: Kysely<T>): Engine {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

export type Run = (query: CompiledQuery) => Promise<QueryResult<unknown>>

/** Kysely's own executor asks for a connection for every statement; here `run` sees to it. */
export class DirectExecutor extends DefaultQueryExecutor {
  readonly #run: Run
  readonly #system: 'sqlite' | 'postgresql'
  /** What `afterCommit` left for the end of the transaction that this runs. */
  readonly afterCommit: (() => void)[] = []

  constructor(run: Run, compiler: QueryCompiler, adapter: DialectAdapter) {
    const connection = { executeQuery: run, streamQuery: refuseStreams } as never
    super(compiler, adapter, { provideConnection: (consumer) => consumer(connection) })
    this.#run = run
    this.#system = adapter instanceof PostgresAdapter ? 'postgresql' : 'sqlite'
  }

  override executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const run = () => this.#run(query) as Promise<QueryResult<R>>
    return currentTrace() ? withStatementSpan(this.#system, query.sql, run) : run()
  }
}

function refuseStreams(): never {
  throw new Error('Rows are read in pages, not streamed.')
}

/** A statement that comes too late must not become part of another transaction. */
export function untilEnded(run: (query: CompiledQuery) => QueryResult<unknown> | ReturnType<Run>): {
  run: Run
  end(): void
} {
  let ended = false
  return {
    run: async (query) => {
      if (ended) throw new Error('The transaction is already committed or rolled back.')
      return run(query)
    },
    end: () => {
      ended = true
    },
  }
}

/** What `lastly` makes: the answer of the last statement of a transaction. */
export class Last<R> {
  readonly answer: Promise<R>

  constructor(answer: Promise<R>) {
    this.answer = answer
    // The transaction fails with it, and may have failed before.
    answer.catch(() => {})
  }
}

type Lockable<Q> = { forUpdate(): Q }

/** Locks the rows a query finds. SQLite has one writer at a time and no such clause. */
export function forUpdate<T, Q extends Lockable<Q>>(db: Kysely<T>, query: Q): Q {
  return engineOf(db) === 'postgres' ? query.forUpdate() : query
}

type DriverError = { code?: string; constraint?: string; message?: string }

/** Whether a unique index refused the row; `name` narrows it to one index or column. */
export function isUniqueViolation(error: unknown, name?: string): boolean {
  const { code, constraint = '', message = '' } = (error ?? {}) as DriverError
  const unique =
    code === '23505' ||
    code === 'SQLITE_CONSTRAINT_UNIQUE' ||
    code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
  return unique && (name === undefined || `${constraint} ${message}`.includes(name))
}

// Without room for its shared memory, SQLite reports an error of the disk.
const FULL = /^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|53100)/
// Connections refused, lost or too many; a statement that took too long; a server that starts or stops.
const UNAVAILABLE =
  /^(08[\dA-Z]{3}|53300|57014|57P0\d|SQLITE_(BUSY|LOCKED|READONLY|IOERR|CANTOPEN|PROTOCOL).*)$/

// What the driver says without a code; the last of a connection that was lost between two statements.
const LOST = /^(Connection terminated|Query read timeout|Client has encountered a connection error)/

/** Whether a failure is the database's and not ours: it has no room, or cannot be used. */
export function databaseFault(error: unknown): 'full' | 'unavailable' | undefined {
  const { code = '', message = '' } = (error ?? {}) as DriverError
  if (FULL.test(code)) return 'full'
  if (databaseUnavailable.is(error)) return 'unavailable'
  return UNAVAILABLE.test(code) || LOST.test(message) ? 'unavailable' : undefined
}

type Column = [
  type: ColumnDataType,
  build: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder,
]

/** A number that the database counts up and never gives out twice. */
export function idColumn(engine: Engine): Column {
  if (engine === 'sqlite') return ['integer', (column) => column.primaryKey().autoIncrement()]
  return ['bigint', (column) => column.primaryKey().generatedByDefaultAsIdentity()]
}
