import { randomUUID } from 'node:crypto'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Metrics } from '../metrics/metrics.ts'
import { measureLog, measurePool } from '../metrics/stores.ts'
import { databaseUnavailable, StartError, storageFull } from '../problems.ts'
import type { Logger } from '../runtime/logging.ts'
import { type Db, databaseFault, type Engine } from './engine.ts'
import {
  claimLease,
  countLeases,
  deleteDeadLeases,
  kitMigrations,
  type LeaseTables,
} from './leases.repository.ts'
import { type Migration, migrate } from './migrate.ts'
import { backUpSqlite } from './sqlite/file.ts'
import { openSqliteKysely } from './sqlite/kysely.ts'
import { openReserve, type WithReserve } from './sqlite/reserve.ts'

export type { Db } from './engine.ts'

export type Database<T> = {
  db: Db<T>
  engine: Engine
  /** Whether the database answers and takes a row. */
  ping(): Promise<boolean>
  /** Only with the option `reserve` it helps on a full disk. */
  withReserve: WithReserve
  measure(metrics: Metrics): void
  close(): Promise<void>
}

type OpenOptions = {
  log?: Logger
  poolSize?: number
  connectMs?: number
  statementMs?: number
  /** Keeps room for `withReserve` on the disk of an SQLite file. */
  reserve?: boolean
}

/** Opens `sqlite:<file>` or `postgres://…` and returns only when the schema is current. */
export async function openDatabase<T>(
  url: string,
  migrations: Migration[],
  options: OpenOptions = {},
): Promise<Database<T>> {
  try {
    return await openCurrent(url, migrations, options)
  } catch (error) {
    throw explained(error, url)
  }
}

async function openCurrent<T>(
  url: string,
  migrations: Migration[],
  options: OpenOptions,
): Promise<Database<T>> {
  const connection = connect<T>(url, options)
  let withReserve: WithReserve = (work) => work()
  try {
    await migrate(connection.db, connection.engine, migrations, connection.backUp)
    if (migrations.includes(kitMigrations[0] as Migration))
      await deleteDeadLeases(connection.db as unknown as Db<LeaseTables>)
    if (options.reserve && connection.file !== undefined)
      withReserve = await openReserve(connection.db, connection.file)
  } catch (error) {
    await connection.close()
    throw error
  }
  return {
    db: connection.db,
    engine: connection.engine,
    ping: () => probe(connection.db as unknown as Db<LeaseTables>),
    withReserve,
    measure: (metrics) => {
      connection.measure(metrics)
      measureLeases(metrics, connection.db as unknown as Db<LeaseTables>)
    },
    close: connection.close,
  }
}

const DISK_FULL = 'The disk with the database is full. Make room on it and start again.'

/** No such database; credentials refused; no right to create the schema. */
const REFUSED = new Set(['3D000', '28P01', '28000', '42501'])

/** Why a database cannot be used, without the password of its address. */
function explained(error: unknown, url: string): unknown {
  const cause = databaseUnavailable.is(error) ? error.cause : error
  const { code = '', message } = cause as NodeJS.ErrnoException
  if (databaseFault(cause) === 'full') return new StartError(DISK_FULL, { cause })
  const isOurs = cause === error && !REFUSED.has(code) && databaseFault(error) === undefined
  if (isOurs && !DAMAGED.test(code)) return error
  return new StartError(`${nameOf(url)} cannot be used: ${message || code}.`, { cause })
}

const DAMAGED = /^SQLITE_(CORRUPT|NOTADB)/

function nameOf(url: string): string {
  if (url.startsWith('sqlite:')) return `The database file ${url.slice('sqlite:'.length)}`
  const { host, pathname } = new URL(url)
  return `The database "${pathname.slice(1)}" at ${host}`
}

type Connection<T> = {
  db: Kysely<T>
  engine: Engine
  file?: string
  backUp(): Promise<void>
  measure(metrics: Metrics): void
  close(): Promise<void>
}

function connect<T>(url: string, options: OpenOptions): Connection<T> {
  if (!url.startsWith('sqlite:')) {
    const pool = postgresPool(url, options)
    const db = new Kysely<T>({ dialect: new PostgresDialect({ pool }) })
    return {
      db,
      engine: 'postgres',
      backUp: async () => {},
      measure: (metrics) => measurePool(metrics, pool),
      close: () => db.destroy(),
    }
  }
  const file = url.slice('sqlite:'.length)
  const db = openSqliteKysely<T>(file)
  return {
    db,
    engine: 'sqlite',
    file,
    backUp: () => backUpSqlite(file),
    measure: (metrics) => measureLog(metrics, file),
    close: () => db.destroy(),
  }
}

const PROBE = `health:${randomUUID()}`
const PROBE_SECONDS = 60

/** Writes: a disk that is full or read-only answers reads for a long time. */
async function probe(db: Db<LeaseTables>): Promise<boolean> {
  try {
    return await claimLease(db, PROBE, PROBE, PROBE_SECONDS)
  } catch (error) {
    throw databaseFault(error) === 'full'
      ? storageFull({ cause: error })
      : databaseUnavailable({ cause: error })
  }
}

function measureLeases(metrics: Metrics, db: Db<LeaseTables>): void {
  const about = { name: 'plinth_leases', help: 'Leases that nodes hold or have left behind.' }
  metrics.gauge(about, () => countLeases(db))
}

const CONNECT_MS = 5_000
const STATEMENT_MS = 10_000
const IDLE_IN_TRANSACTION_MS = 60_000

const INT8 = 20

/** 64-bit integers as numbers: ids and amounts stay within 2^53, and SQLite gives numbers too. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

function postgresPool(connectionString: string, options: OpenOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: options.connectMs ?? CONNECT_MS,
    statement_timeout: options.statementMs ?? STATEMENT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    application_name: 'plinth',
    types,
  })
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
  pool.connect = (async () => {
    try {
      return await connect()
    } catch (error) {
      throw databaseUnavailable({ cause: error })
    }
  }) as typeof pool.connect
  // The pool listens to idle connections only; a connection lost while in use needs a listener, too.
  pool.on('connect', (client) => surviveLoss(client, options.log))
  pool.on('error', () => {})
  return pool
}

/** An error without a listener would end the process; the statement in flight fails anyway. */
function surviveLoss(client: pg.PoolClient, log: Logger | undefined): void {
  client.once('error', (error) => log?.warn({ err: error }, 'a database connection was lost'))
  client.on('error', () => {})
}
