import type { SqliteDatabase, SqliteStatement } from 'kysely'

const STATEMENTS = 500

/**
 * Compiling a statement costs several times what a read by primary key does, so each text is
 * compiled once. SQLite compiles it again by itself when the schema has changed.
 */
export function keepStatements(database: SqliteDatabase): SqliteDatabase {
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
