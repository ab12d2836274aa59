import SqliteDatabase from 'better-sqlite3'

export type SqliteReader = {
  /** The first row, or nothing; throws like the driver when the file is locked. */
  get(sql: string, key: unknown): unknown
  close(): void
}

const readers = new WeakMap<object, SqliteReader>()

/** Gives a database a second connection, opened when it is first needed, that can only read. */
export function readBeside(db: object, file: string): SqliteReader {
  let connection: InstanceType<typeof SqliteDatabase> | undefined
  const statements = new Map<string, { get(key: unknown): unknown }>()
  const prepare = (sql: string) => {
    connection ??= new SqliteDatabase(file, { readonly: true, timeout: 0 })
    const statement = connection.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  const reader: SqliteReader = {
    get: (sql, key) => (statements.get(sql) ?? prepare(sql)).get(key),
    close: () => {
      readers.delete(db)
      connection?.close()
    },
  }
  readers.set(db, reader)
  return reader
}

export function readerOf(db: object): SqliteReader | undefined {
  return readers.get(db)
}
