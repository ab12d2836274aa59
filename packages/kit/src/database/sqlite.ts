import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import {
  CompiledQuery,
  type DatabaseConnection,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
} from 'kysely'

type Sqlite = InstanceType<typeof SqliteDatabase>

const BUSY_MS = 10_000

/** WAL with a full sync on each commit: what was acknowledged survives a power cut. */
export function openSqlite(file: string): Sqlite {
  if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true })
  const sqlite = new SqliteDatabase(file, { timeout: BUSY_MS })
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = FULL')
  sqlite.pragma('foreign_keys = ON')
  return sqlite
}

/** Keeps a copy of the file beside it before the schema changes. */
export async function backUpSqlite(sqlite: Sqlite, file: string): Promise<void> {
  if (file === ':memory:' || !existsSync(file)) return
  sqlite.pragma('wal_checkpoint(TRUNCATE)')
  copyFileSync(file, `${file}.before-migration`)
}

export function sqliteDialect(database: Sqlite): SqliteDialect {
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
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }
}
