import { Kysely } from 'kysely'
import type { Logger } from '../logging.ts'
import { StartError } from '../start-error.ts'
import { registerSqlite } from './direct-sqlite.ts'
import type { Engine } from './engine.ts'
import { type Migration, migrate } from './migrate.ts'
import { postgresDialect } from './postgres.ts'
import { backUpSqlite, openSqlite, sqliteDialect } from './sqlite.ts'
import { readBeside } from './sqlite-reader.ts'
import { keepStatements } from './statement-cache.ts'

/** A connection or a transaction: a repository function takes either. */
export type Db<T> = Kysely<T>

export type Database<T> = {
  db: Db<T>
  engine: Engine
  /** Whether the database answers. */
  ping(): Promise<boolean>
  close(): Promise<void>
}

type OpenOptions = { log?: Logger; poolSize?: number }

/** Opens `sqlite:<file>` or `postgres://…` and returns only when the schema is current. */
export async function openDatabase<T>(
  url: string,
  migrations: Migration[],
  options: OpenOptions = {},
): Promise<Database<T>> {
  const connection = connect<T>(url, options)
  try {
    await migrate(connection.db, connection.engine, migrations, connection.backUp)
  } catch (error) {
    await connection.close()
    throw explained(error, url)
  }
  return {
    db: connection.db,
    engine: connection.engine,
    ping: () => ping(connection.db),
    close: connection.close,
  }
}

/** Nobody answers at the address; no such database; nobody lets us in. */
const UNREACHABLE = new Set(
  'ECONNREFUSED ENOTFOUND EAI_AGAIN ETIMEDOUT EHOSTUNREACH 3D000 28P01 28000'.split(' '),
)

/** A database that cannot be used is told in plain words, without the password of its address. */
function explained(error: unknown, url: string): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (!UNREACHABLE.has(code)) return error
  const { host, pathname } = new URL(url)
  const reason = `The database "${pathname.slice(1)}" at ${host} cannot be used: ${message || code}.`
  return new StartError(reason, { cause: error })
}

type Connection<T> = {
  db: Kysely<T>
  engine: Engine
  backUp(): Promise<void>
  close(): Promise<void>
}

function connect<T>(url: string, options: OpenOptions): Connection<T> {
  if (!url.startsWith('sqlite:')) {
    const db = new Kysely<T>({ dialect: postgresDialect(url, options) })
    return { db, engine: 'postgres', backUp: async () => {}, close: () => db.destroy() }
  }
  const file = url.slice('sqlite:'.length)
  const sqlite = keepStatements(openSqlite(file))
  const db = new Kysely<T>({ dialect: sqliteDialect(sqlite) })
  registerSqlite(db, sqlite)
  const reader = file === ':memory:' ? undefined : readBeside(db, file)
  const close = async () => {
    // Before the other: only one that may write tidies up the log when it is the last to go.
    reader?.close()
    await db.destroy()
  }
  return { db, engine: 'sqlite', backUp: () => backUpSqlite(file), close }
}

async function ping<T>(db: Kysely<T>): Promise<boolean> {
  try {
    await db.selectNoFrom((eb) => eb.lit(1).as('one')).execute()
    return true
  } catch {
    return false
  }
}
