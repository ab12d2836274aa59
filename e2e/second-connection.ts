import SqliteDatabase from 'better-sqlite3'
import { until } from '../test/until.ts'

/**
 * A second connection to the database of a running service. It uses the service's own copy of SQLite: copies do not see
 * each other's locks in one process, so that `node:sqlite` would delete the write-ahead log in use when it closes, and
 * the service could no longer read what it wrote.
 */
export function secondConnection(file: string): SqliteDatabase.Database {
  return new SqliteDatabase(file, { timeout: 0 })
}

/** Waits between its tries, because a service of this process could not end its transaction while SQLite waits for it. */
export async function changeDatabase(file: string, statement: string): Promise<void> {
  await until(() => {
    const database = secondConnection(file)
    try {
      database.exec(statement)
      return true
    } catch (error) {
      if (error instanceof SqliteDatabase.SqliteError && error.code.startsWith('SQLITE_BUSY'))
        return false
      throw error
    } finally {
      database.close()
    }
  })
}
