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
import { databaseUnavailable, type Problem, storageFull, storageReadOnly } from '../problems.ts'
import { withStatementSpan } from '../tracing/statements.ts'
import { currentTrace } from '../tracing/trace-context.ts'

declare const TABLES: unique symbol

/**
 * A connection or a transaction: a repository function takes either. Kysely's own type accepts a database without the
 * tables that a function needs; this one accepts only a database that has them, and perhaps more.
 */
export interface Db<T> extends Kysely<T> {
  readonly [TABLES]?: () => T
}

export type Engine = 'sqlite' | 'postgres'

/** The engine behind a connection or a transaction. */
export function engineOf<T>(db: Db<T>): Engine {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

export type Run = (query: CompiledQuery) => Promise<QueryResult<unknown>>

/** Kysely's own executor acquires a connection for every statement; here `run` takes care of that. */
export class DirectExecutor extends DefaultQueryExecutor {
  readonly #run: Run
  readonly #system: 'sqlite' | 'postgresql'
  /** Callbacks that `afterCommit` queued for the transaction this executor runs. */
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

/** Rejects statements issued after the transaction has ended, so that they cannot join another one. */
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

/** Made by `lastly`: the pending answer to the last statement of a transaction. */
export class Last<R> {
  readonly answer: Promise<R>

  constructor(answer: Promise<R>) {
    this.answer = answer
    // Prevents an unhandled rejection: the transaction fails with it, or has already failed.
    answer.catch(() => {})
  }
}

type Lockable<Q> = { forUpdate(): Q }

/** Locks the rows a query finds. SQLite has a single writer and no `for update`. */
export function forUpdate<T, Q extends Lockable<Q>>(db: Db<T>, query: Q): Q {
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

/** Whether a row refers to one that does not exist, or still does to one that was to be deleted. */
export function isForeignKeyViolation(error: unknown): boolean {
  const { code } = (error ?? {}) as DriverError
  return code === '23503' || code === 'SQLITE_CONSTRAINT_FOREIGNKEY'
}

// Without room for its shared-memory file, SQLite reports an I/O error and not a full disk.
const FULL = /^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|53100)/
// A standby; a disk that cannot be written to, which the kernel may have made read-only while files were open.
const READ_ONLY = /^(25006|SQLITE_READONLY|SQLITE_READONLY_DIRECTORY|SQLITE_IOERR_(WRITE|FSYNC))$/
// Connections refused, lost or exhausted; no memory; a statement, lock or transaction timeout; a server starting
// up or shutting down; a disk that fails.
const UNAVAILABLE =
  /^(08[\dA-Z]{3}|25P0[34]|53\d{3}|55P03|57014|57P0\d|58030|SQLITE_(BUSY|LOCKED|READONLY|IOERR|CANTOPEN|PROTOCOL).*)$/

// Driver errors without a code. The last one means that the connection was lost between two statements.
const LOST = /^(Connection terminated|Query read timeout|Client has encountered a connection error)/

type DatabaseFault = 'full' | 'read-only' | 'unavailable'

/** Whether the database is at fault and not our code: it is out of disk space, or cannot be written or used. */
export function databaseFault(error: unknown): DatabaseFault | undefined {
  const { code = '', message = '' } = (error ?? {}) as DriverError
  if (FULL.test(code)) return 'full'
  if (READ_ONLY.test(code)) return 'read-only'
  if (databaseUnavailable.is(error)) return 'unavailable'
  return UNAVAILABLE.test(code) || LOST.test(message) ? 'unavailable' : undefined
}

/** Whether the bytes of the file are not those of a database. */
export function isDamaged(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB)/.test(((error ?? {}) as DriverError).code ?? '')
}

const PROBLEM_OF = {
  full: storageFull,
  'read-only': storageReadOnly,
  unavailable: databaseUnavailable,
}

/** What the caller is told about a fault of the database; undefined if the error is none. */
export function databaseProblem(error: unknown): Problem | undefined {
  const fault = databaseFault(error)
  return fault && PROBLEM_OF[fault]({ cause: error })
}

type Column = [
  type: ColumnDataType,
  build: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder,
]

/** An auto-incremented number that the database never reuses. */
export function idColumn(engine: Engine): Column {
  if (engine === 'sqlite') return ['integer', (column) => column.primaryKey().autoIncrement()]
  return ['bigint', (column) => column.primaryKey().generatedByDefaultAsIdentity()]
}
