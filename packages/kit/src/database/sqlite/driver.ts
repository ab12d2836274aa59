import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import SqliteDatabase from 'better-sqlite3'
import {
  CompiledQuery,
  type DatabaseConnection,
  type SqliteDatabase as KyselyDatabase,
  type QueryResult,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely'
import { inDataFolder } from '../../runtime/data-folder.ts'

type Sqlite = InstanceType<typeof SqliteDatabase>

const BUSY_MS = 10_000

const OPENING_MS = 5_000

/** WAL with a full sync on each commit: what was acknowledged survives a power cut. */
export function openSqlite(file: string): Sqlite {
  if (file === ':memory:') return configured(file)
  return inDataFolder(dirname(file), 'SUITE_DATA or …_DATABASE_URL', () => configured(file))
}

function configured(file: string): Sqlite {
  const sqlite = new SqliteDatabase(file, { timeout: OPENING_MS })
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = FULL')
  // A page that is written often is copied from the log to the file once for many times: 16 MB.
  sqlite.pragma('wal_autocheckpoint = 4000')
  sqlite.pragma('foreign_keys = ON')
  // SQLite's own waiting would block the event loop; PatientConnection waits instead.
  sqlite.pragma('busy_timeout = 0')
  return sqlite
}

export function isBusy(error: unknown): boolean {
  return /^SQLITE_BUSY/.test((error as { code?: string }).code ?? '')
}

/** Keeps a copy of the file beside it before the schema changes; call it under the write lock. */
export async function backUpSqlite(file: string): Promise<void> {
  if (file === ':memory:') return
  const source = new SqliteDatabase(file, { readonly: true })
  try {
    await source.backup(`${file}.before-migration`)
  } finally {
    source.close()
  }
}

export function sqliteDialect(database: KyselyDatabase): SqliteDialect {
  return new ImmediateDialect({ database })
}

class ImmediateDialect extends SqliteDialect {
  readonly #config: SqliteDialectConfig

  constructor(config: SqliteDialectConfig) {
    super(config)
    this.#config = config
  }

  override createDriver() {
    return new ImmediateDriver(this.#config)
  }
}

/**
 * A transaction that reads first and writes later would fail at once when another process wrote in
 * between; taking the write lock at the start makes it wait its turn instead.
 */
class ImmediateDriver extends SqliteDriver {
  override async acquireConnection(): Promise<DatabaseConnection> {
    return new PatientConnection(await super.acquireConnection())
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }
}

/** Waits, without blocking anybody, while another process or connection is writing. */
class PatientConnection implements DatabaseConnection {
  readonly #connection: DatabaseConnection

  constructor(connection: DatabaseConnection) {
    this.#connection = connection
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    for (let waited = 0; ; ) {
      try {
        return await this.#connection.executeQuery<R>(query)
      } catch (error) {
        if (!isBusy(error) || waited > BUSY_MS) throw error
      }
      const pause = 1 + Math.random() * 5
      await setTimeout(pause)
      waited += pause
    }
  }

  streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    return this.#connection.streamQuery<R>(query, chunkSize)
  }
}

const STATEMENTS = 500

/**
 * Compiling a statement costs several times what a read by primary key does, so each text is
 * compiled once. SQLite compiles it again by itself when the schema has changed.
 */
export function keepStatements(database: KyselyDatabase): KyselyDatabase {
  const kept = new Map<string, SqliteStatement>()
  const prepare = (sql: string): SqliteStatement => {
    const known = kept.get(sql)
    if (known) return known
    const [oldest] = kept.size < STATEMENTS ? [] : kept.keys()
    if (oldest !== undefined) kept.delete(oldest)
    const statement = database.prepare(sql)
    kept.set(sql, statement)
    return statement
  }
  return { prepare, close: () => database.close() }
}
