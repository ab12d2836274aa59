import SqliteDatabase from 'better-sqlite3'

/**
 * A second connection to the database of a running service. It uses the service's own copy of SQLite: copies do not see
 * each other's locks in one process, so that `node:sqlite` would delete the write-ahead log in use when it closes, and
 * the service could no longer read what it wrote.
 */
export function secondConnection(file: string): SqliteDatabase.Database {
  return new SqliteDatabase(file, { timeout: 30_000 })
}
