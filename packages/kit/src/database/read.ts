import { CompiledQuery, Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely'
import type { Db } from './engine.ts'
import { type Applied, isUnfinished, listApplied } from './migrate.ts'

export type Reading<T> = {
  db: Db<T>
  /** The migrations it has; none are read while a restore or a move into it has not ended. */
  applied: Applied[]
  /** Whether a restore or a move into it has not ended. */
  isUnfinished: boolean
  rows(query: string): Promise<Record<string, string>[]>
  close(): Promise<void>
}

const CONNECT_MS = 5_000

/** Opens a database read-only and as it is: opening it as a service does would migrate it. */
export async function readDatabase<T>(url: string): Promise<Reading<T>> {
  const db = url.startsWith('sqlite:') ? await readFile<T>(url) : await readServer<T>(url)
  const rows = async (query: string) => {
    const answer = await sql.raw<Record<string, string>>(query).execute(db)
    return answer.rows
  }
  const close = () => db.destroy()
  try {
    const isBegun = await isUnfinished(db)
    return { db, applied: isBegun ? [] : await listApplied(db), isUnfinished: isBegun, rows, close }
  } catch (error) {
    await close()
    throw url.startsWith('sqlite:') ? error : named(url, error as NodeJS.ErrnoException)
  }
}

async function readFile<T>(url: string): Promise<Kysely<T>> {
  const { default: Sqlite } = await import('better-sqlite3')
  const file = url.slice('sqlite:'.length)
  const database = new Sqlite(file, { readonly: true, fileMustExist: true, timeout: CONNECT_MS })
  return new Kysely<T>({ dialect: new SqliteDialect({ database }) })
}

async function readServer<T>(url: string): Promise<Kysely<T>> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CONNECT_MS,
    max: 1,
  })
  const readOnly = CompiledQuery.raw('set default_transaction_read_only = on')
  return new Kysely<T>({
    dialect: new PostgresDialect({
      pool,
      onCreateConnection: async (connection) => void (await connection.executeQuery(readOnly)),
    }),
  })
}

function named(url: string, error: NodeJS.ErrnoException): Error {
  const { host, pathname } = new URL(url)
  const { message, code } = error
  return new Error(`the database "${pathname.slice(1)}" at ${host}: ${message || code}`, {
    cause: error,
  })
}
