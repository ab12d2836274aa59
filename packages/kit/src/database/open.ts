import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { StartError } from '../problems.ts'
import type { Logger } from '../runtime/logging.ts'
import type { Engine } from './engine.ts'
import { type Migration, migrate } from './migrate.ts'
import { backUpSqlite } from './sqlite/file.ts'
import { openSqliteKysely } from './sqlite/kysely.ts'

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

/** No answer at the address; no such database; credentials refused. */
const UNREACHABLE = new Set(
  'ECONNREFUSED ENOTFOUND EAI_AGAIN ETIMEDOUT EHOSTUNREACH 3D000 28P01 28000'.split(' '),
)

/** Why a database cannot be used, without the password of its address. */
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
  const db = openSqliteKysely<T>(file)
  return { db, engine: 'sqlite', backUp: () => backUpSqlite(file), close: () => db.destroy() }
}

async function ping<T>(db: Kysely<T>): Promise<boolean> {
  try {
    await db.selectNoFrom((eb) => eb.lit(1).as('one')).execute()
    return true
  } catch {
    return false
  }
}

const CONNECT_MS = 5_000

const INT8 = 20

/** 64-bit integers as numbers: ids and amounts stay within 2^53, and SQLite gives numbers too. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

function postgresDialect(connectionString: string, options: OpenOptions): PostgresDialect {
  const pool = new pg.Pool({
    connectionString,
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: CONNECT_MS,
    types,
  })
  // The pool listens to idle connections only; a connection lost while in use needs a listener, too.
  pool.on('connect', (client) => surviveLoss(client, options.log))
  pool.on('error', () => {})
  return new PostgresDialect({ pool })
}

/** An error without a listener would end the process; the statement in flight fails anyway. */
function surviveLoss(client: pg.PoolClient, log: Logger | undefined): void {
  client.once('error', (error) => log?.warn({ err: error }, 'a database connection was lost'))
  client.on('error', () => {})
}
