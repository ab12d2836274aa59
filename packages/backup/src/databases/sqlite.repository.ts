import { existsSync } from 'node:fs'
import SqliteDatabase from 'better-sqlite3'
import type { Connection, Row, Snapshot, Value } from './tables.ts'

type Sqlite = InstanceType<typeof SqliteDatabase>

const BATCH = 500

const BUSY = /^SQLITE_BUSY/
/** Ample: our writers hold the lock for milliseconds only. */
const LOCK_MS = 20_000

function connectionOf(sqlite: Sqlite): Connection {
  return {
    engine: 'sqlite',
    async run(sql, values = []) {
      const statement = sqlite.prepare(sql)
      if (statement.reader) return statement.all(values) as Record<string, Value>[]
      statement.run(values)
      return []
    },
    async *stream(sql) {
      let batch: Row[] = []
      for (const row of sqlite.prepare(sql).raw().iterate()) {
        batch.push(row as Row)
        if (batch.length < BATCH) continue
        yield batch
        batch = []
      }
      if (batch.length > 0) yield batch
    },
    close: async () => {
      sqlite.close()
    },
  }
}

/** Creates a missing file. */
export function openSqlite(file: string): Connection {
  const sqlite = new SqliteDatabase(file, { timeout: LOCK_MS })
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = FULL')
  sqlite.pragma('foreign_keys = ON')
  return connectionOf(sqlite)
}

/**
 * A reader with an open transaction sees the file as it was while others write. Unlike a copy made in
 * steps, it never has to start over; only the WAL grows meanwhile.
 */
export function openSqliteSnapshot(file: string): Snapshot {
  const writer = new SqliteDatabase(file, { timeout: LOCK_MS })
  const reader = new SqliteDatabase(file, { readonly: true, timeout: LOCK_MS })
  const release = () => {
    if (writer.inTransaction) writer.exec('rollback')
  }
  return {
    ...connectionOf(reader),
    lock: async () => {
      writer.exec('begin immediate')
    },
    pin: async () => {
      reader.exec('begin')
      reader.prepare('select count(*) from sqlite_master').get()
    },
    release,
    close: async () => {
      release()
      reader.close()
      // Closed last, because only a connection that may write cleans up the WAL.
      writer.close()
    },
  }
}

/** Whether another process has the file open. If none has, the WAL is merged into the file. */
export function isSqliteInUse(file: string): boolean {
  if (!existsSync(file)) return false
  const sqlite = new SqliteDatabase(file, { timeout: 0 })
  try {
    sqlite.pragma('journal_mode = DELETE')
    return false
  } catch (error) {
    // A file that is damaged, or not a database, is not in use.
    return BUSY.test((error as { code?: string }).code ?? '')
  } finally {
    sqlite.close()
  }
}

/** A lock that ends with the process, even in a crash. Undefined if another process holds it. */
export function lockFile(path: string): { release(): void } | undefined {
  const sqlite = new SqliteDatabase(path, { timeout: 0 })
  try {
    sqlite.exec('begin exclusive')
    return { release: () => sqlite.close() }
  } catch (error) {
    sqlite.close()
    if (BUSY.test((error as { code?: string }).code ?? '')) return undefined
    throw error
  }
}
