import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type Kysely, sql } from 'kysely'
import type { Metrics } from '../metrics/metrics.ts'
import { measureLog, measurePool } from '../metrics/stores.ts'
import { databaseUnavailable, StartError } from '../problems.ts'
import { type Db, databaseFault, databaseProblem, type Engine, isDamaged } from './engine.ts'
import {
  claimLease,
  countLeases,
  deleteDeadLeases,
  kitMigrations,
  type LeaseTables,
} from './leases/leases.repository.ts'
import { listMissing, type Migration, migrate, VERSION } from './migrate.ts'
import type { PoolOptions } from './postgres/pool.ts'
import { backUpSqlite } from './sqlite/file.ts'
import { openSqliteKysely } from './sqlite/kysely.ts'
import { openReserve, type WithReserve } from './sqlite/reserve.ts'

export type { Db } from './engine.ts'

export type Database<T> = {
  db: Db<T>
  engine: Engine
  /** Whether the database answers and accepts a write. Throws `storageFull` or `storageReadOnly` if it only reads. */
  ping(): Promise<boolean>
  /** With the option `reserve`, work that frees disk space can run even on a full disk. */
  withReserve: WithReserve
  measure(metrics: Metrics): void
  close(): Promise<void>
}

type OpenOptions = PoolOptions & {
  /** The setting with the URL, which is named when the database cannot be used. */
  setting?: string
  /** Reserves disk space for `withReserve` next to an SQLite file. */
  reserve?: boolean
  /** Whether to copy PostgreSQL tables before a migration changes them; on by default. */
  migrationCopy?: boolean
  /** The product version being started. */
  version?: string
  /** Opens a database that a restore or move is still filling. */
  restoring?: boolean
}

type Tables = Record<string, Record<string, unknown>>

/** Opens `sqlite:<file>` or `postgres://…` and returns only when the schema is current. */
export async function openDatabase<T extends Tables>(
  url: string,
  migrations: Migration[],
  options: OpenOptions = {},
): Promise<Database<T>> {
  try {
    return await openCurrent(url, migrations, options)
  } catch (error) {
    throw toStartError(error, url)
  }
}

async function openCurrent<T extends Tables>(
  url: string,
  migrations: Migration[],
  options: OpenOptions,
): Promise<Database<T>> {
  const connection = await connect(url, options)
  const leases = connection.db.$extendTables<LeaseTables>()
  let withReserve: WithReserve = (work) => work()
  try {
    const { version = VERSION, ...update } = options
    await requireUnicode(connection, url)
    await migrate(connection.db, { ...connection, ...update, migrations, version })
    await connection.useMemory?.()
    if (migrations.includes(kitMigrations[0] as Migration)) await deleteDeadLeases(leases)
    if (options.reserve && connection.file !== undefined)
      withReserve = await openReserve(connection.db, connection.file)
  } catch (error) {
    await connection.close()
    throw error
  }
  return {
    db: connection.db.$extendTables<T>(),
    engine: connection.engine,
    ping: () => probe(leases),
    withReserve,
    measure: (metrics) => {
      connection.measure(metrics)
      measureLeases(metrics, leases)
    },
    close: connection.close,
  }
}

/**
 * In other encodings PostgreSQL rejects most characters, or counts their bytes. An installation that has one
 * already must not stop with an update: `plinth doctor` reports it.
 */
async function requireUnicode({ db, engine }: Connection, url: string): Promise<void> {
  if (engine === 'sqlite') return
  const { rows } = await sql<{ encoding: string; isNew: boolean }>`
    select current_setting('server_encoding') as encoding,
      to_regclass('schema_migrations') is null as "isNew"`.execute(db)
  const { encoding, isNew } = rows[0] ?? {}
  if (encoding === 'UTF8' || !isNew) return
  throw new StartError(
    `${nameOf(url)} cannot be used: its encoding is ${encoding}, not UTF8. Create another: ` +
      "create database … encoding 'UTF8' template template0.",
  )
}

/** The migrations that opening the database would apply: all of them if it does not exist yet. */
export async function missingMigrations(url: string, migrations: Migration[]): Promise<string[]> {
  const file = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined
  if (file !== undefined && !existsSync(file)) return migrations.map(({ name }) => name)
  const connection = await connect(url, {})
  try {
    return await listMissing(connection.db, { migrations, version: VERSION })
  } catch (error) {
    throw toStartError(error, url)
  } finally {
    await connection.close()
  }
}

const DISK_FULL = 'The disk with the database is full. Make room on it and start again.'

/** Unknown database; credentials rejected; no privilege to create the schema. */
const REFUSED = new Set(['3D000', '28P01', '28000', '42501'])

/** Explains why the database cannot be used, without revealing the password in its URL. */
function toStartError(error: unknown, url: string): unknown {
  const cause = databaseUnavailable.is(error) ? error.cause : error
  const { code = '', message } = cause as NodeJS.ErrnoException
  if (databaseFault(cause) === 'full') return new StartError(DISK_FULL, { cause })
  const isOurs = cause === error && !REFUSED.has(code) && databaseFault(error) === undefined
  if (isOurs && !isDamaged(error)) return error
  return new StartError(`${nameOf(url)} cannot be used: ${message || code}.`, { cause })
}

function nameOf(url: string): string {
  if (url.startsWith('sqlite:')) return `The database file ${url.slice('sqlite:'.length)}`
  const { host, pathname } = new URL(url)
  return `The database "${pathname.slice(1)}" at ${host}`
}

type Connection = {
  /** Whose tables are not known yet. */
  db: Kysely<unknown>
  engine: Engine
  file?: string
  backUp?(version: string): Promise<void>
  openPatient?(): Kysely<unknown>
  useMemory?(): Promise<unknown>
  measure(metrics: Metrics): void
  close(): Promise<void>
}

async function connect(url: string, options: OpenOptions): Promise<Connection> {
  if (!url.startsWith('sqlite:')) {
    // Loaded on demand: a service on SQLite does not need this driver.
    const [{ openPool }, { openPostgresKysely }] = await Promise.all([
      import('./postgres/pool.ts'),
      import('./postgres/kysely.ts'),
    ])
    const pool = openPool(url, options)
    const db = openPostgresKysely<unknown>(pool)
    return {
      db,
      engine: 'postgres',
      openPatient: () =>
        openPostgresKysely(openPool(url, { ...options, statementMs: 0, poolSize: 2 })),
      measure: (metrics) => measurePool(metrics, pool),
      close: () => db.destroy(),
    }
  }
  const file = url.slice('sqlite:'.length)
  const db = openSqliteKysely<unknown>(file, options.setting)
  return {
    db,
    engine: 'sqlite',
    file,
    backUp: (version) => backUpSqlite(file, version),
    useMemory: () => keepUndoInMemory(db),
    measure: (metrics) => measureLog(metrics, file),
    close: () => db.destroy(),
  }
}

/**
 * SQLite copies each page that a savepoint changes, for its undoing, and writes these copies to a temporary file once
 * they exceed 64 KB, as those of an upload do. Only a migration changes more than fits into memory, so call it after the
 * last one.
 */
function keepUndoInMemory(db: Kysely<unknown>): Promise<unknown> {
  return sql`pragma temp_store = memory`.execute(db)
}

const PROBE = `health:${randomUUID()}`
const PROBE_SECONDS = 60

/**
 * Writes a row, because a full or read-only disk keeps answering reads for a long time, and reads as well when that
 * fails: one that can still be read is degraded, and not down.
 */
async function probe(db: Db<LeaseTables>): Promise<boolean> {
  try {
    return await claimLease(db, PROBE, PROBE, PROBE_SECONDS)
  } catch (error) {
    const problem = databaseProblem(error) ?? databaseUnavailable({ cause: error })
    if (!databaseUnavailable.is(problem)) await requireReads(db)
    throw problem
  }
}

async function requireReads(db: Db<LeaseTables>): Promise<void> {
  try {
    await countLeases(db)
  } catch (cause) {
    throw databaseUnavailable({ cause })
  }
}

function measureLeases(metrics: Metrics, db: Db<LeaseTables>): void {
  const about = { name: 'plinth_leases', help: 'Leases that nodes hold or have left behind.' }
  metrics.gauge(about, () => countLeases(db))
}
