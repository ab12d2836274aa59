import type { Kysely, SqliteDatabase, Transaction } from 'kysely'

const databases = new WeakMap<object, SqliteDatabase>()

const open = new WeakMap<object, SqliteDatabase>()

export function registerSqlite<T>(db: Kysely<T>, database: SqliteDatabase): void {
  databases.set(db, database)
}

/**
 * A transaction whose statements need not queue for the connection: it has it, and SQLite answers
 * at once. Only while it is open, so that nobody writes into the transaction of the next one.
 */
export function inSqliteTransaction<T, R>(
  db: Kysely<T>,
  work: (transaction: Transaction<T>) => Promise<R>,
): Promise<R> {
  const database = databases.get(db)
  return db.transaction().execute(async (transaction) => {
    if (database) open.set(transaction, database)
    try {
      return await work(transaction)
    } finally {
      open.delete(transaction)
    }
  })
}

/** The database to run a statement on right now, when `db` is an open transaction on SQLite. */
export function directSqlite<T>(db: Kysely<T>): SqliteDatabase | undefined {
  return open.get(db)
}
