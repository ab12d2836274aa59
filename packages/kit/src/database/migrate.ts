import { type Kysely, sql } from 'kysely'
import manifest from '../../package.json' with { type: 'json' }
import { StartError } from '../problems.ts'
import { RESTORE_MARK } from '../runtime/unfinished-restore.ts'
import { type Db, type Engine, engineOf } from './engine.ts'
import { buildIndexes, type Indexes, listUnbuilt } from './postgres/concurrent-indexes.ts'
import { oneNodeAtATime } from './postgres/one-node.ts'
import { withShortWaits } from './postgres/short-waits.ts'
import { copyTables } from './postgres/table-copies.ts'
import { inTransaction } from './transaction.ts'

/** Forward only. Names are unique for all time: `accounts-0001-users`. */
export type Migration = {
  name: string
  // biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its time
  up(db: Kysely<any>, engine: Engine): Promise<void>
  /**
   * Indexes on tables that may be large: PostgreSQL builds them while nodes of the version before write. Not for unique
   * ones, nor for what later migrations need. One that a later migration drops must leave this list.
   */
  indexes?(engine: Engine): Indexes
}

/** The product version, which all packages share. */
export const VERSION: string = manifest.version

/** `version` is missing on rows that 1.0 wrote. */
type MigrationTables = { schema_migrations: { name: string; version?: string | null } }

export type Applied = MigrationTables['schema_migrations']

/** Nodes of the version before lock it, too, when they start on a database that is new. */
const LOCK = 7_264_108

/** Brings the schema up to date: when several nodes start at once, one does the work and the others wait for it. */
export async function migrate(connection: Db<unknown>, update: Update): Promise<void> {
  const db: Db<MigrationTables> = connection.$extendTables<MigrationTables>()
  if (!update.restoring) await refuseUnfinished(db)
  const known = await listApplied(db)
  refuseNewer(known, update)
  const isCurrent = missingFrom(known, update.migrations).length === 0
  const { openPatient } = update
  if (openPatient === undefined) {
    if (!isCurrent) await inTransaction(db, (transaction) => applyMissing(transaction, update))
    return
  }
  const indexes = indexesOf(update.migrations, 'postgres')
  if (isCurrent && (await listUnbuilt(db, indexes)).length === 0) return
  const patient = openPatient()
  try {
    await oneNodeAtATime(patient, () => updatePostgres(patient, update, indexes))
  } finally {
    await patient.destroy()
  }
}

type Update = {
  engine: Engine
  migrations: Migration[]
  version: string
  /** Set when the restore itself opens the database. */
  restoring?: boolean
  /** Copies an SQLite file before it changes. */
  backUp?(version: string): Promise<void>
  /** Whether to copy the tables on PostgreSQL; on by default. */
  migrationCopy?: boolean
  /** Opens a second pool to PostgreSQL, whose statements may take as long as they need. */
  openPatient?(): Db<unknown>
}

/** Nodes of the version before write meanwhile: they only wait for the transaction in the middle, which is short. */
async function updatePostgres(
  connection: Db<unknown>,
  update: Update,
  indexes: Indexes,
): Promise<void> {
  const db: Db<MigrationTables> = connection.$extendTables<MigrationTables>()
  const { version, migrations, restoring, migrationCopy = true } = update
  const applied = await listApplied(db)
  const isBehind = missingFrom(applied, migrations).length > 0
  if (isBehind && applied.length > 0 && !restoring && migrationCopy) {
    refuseNewer(applied, update)
    await inTransaction(db, (transaction) => copyTables(transaction, version), { isPatient: true })
  }
  const applyUnderLock = async (transaction: typeof db) => {
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(transaction)
    await applyMissing(transaction, update)
  }
  if (isBehind) await withShortWaits(db, applyUnderLock)
  await buildIndexes(db, indexes)
}

async function applyMissing(
  db: Db<MigrationTables>,
  { engine, migrations, version, restoring, backUp }: Update,
): Promise<void> {
  await db.schema
    .createTable('schema_migrations')
    .ifNotExists()
    .addColumn('name', 'varchar(200)', (column) => column.primaryKey())
    .execute()
  const applied = await listApplied(db)
  refuseNewer(applied, { migrations, version })
  const missing = missingFrom(applied, migrations)
  if (missing.length === 0) return
  const isNew = applied.length === 0
  if (!isNew && !restoring) await backUp?.(version)
  await addVersion(db, engine)
  for (const migration of missing) {
    await migration.up(db, engine)
    if (isNew || engine === 'sqlite') await createIndexes(db, indexesOf([migration], engine))
    await db.insertInto('schema_migrations').values({ name: migration.name, version }).execute()
  }
}

function indexesOf(migrations: Migration[], engine: Engine): Indexes {
  return Object.assign({}, ...migrations.map(({ indexes }) => indexes?.(engine)))
}

async function createIndexes(db: Db<MigrationTables>, indexes: Indexes): Promise<void> {
  for (const [name, definition] of Object.entries(indexes))
    await sql`create index ${sql.id(name)} on ${sql.raw(definition)}`.execute(db)
}

/** None if the database has no tables of ours. Selects all columns, because one of 1.0 has no `version`. */
export async function listApplied<T>(db: Db<T>): Promise<Applied[]> {
  if (!(await hasTable(db, 'schema_migrations'))) return []
  const { rows } = await sql<Applied>`select * from schema_migrations`.execute(db)
  return rows
}

/** Whether a restore or a move into this database has not ended. */
export function isUnfinished<T>(db: Db<T>): Promise<boolean> {
  return hasTable(db, RESTORE_MARK)
}

async function hasTable<T>(db: Db<T>, name: string): Promise<boolean> {
  const found =
    engineOf(db) === 'postgres'
      ? sql`select 1 where to_regclass(${name}) is not null`
      : sql`select 1 from sqlite_master where name = ${name}`
  const { rows } = await found.execute(db)
  return rows.length > 0
}

function missingFrom(applied: Applied[], migrations: Migration[]): Migration[] {
  return migrations.filter(({ name }) => !applied.some((one) => one.name === name))
}

async function addVersion(db: Db<MigrationTables>, engine: Engine): Promise<void> {
  const column = sql`version varchar(40)`
  if (engine === 'postgres') {
    await sql`alter table schema_migrations add column if not exists ${column}`.execute(db)
    return
  }
  const columns = await sql<{ name: string }>`pragma table_info(schema_migrations)`.execute(db)
  if (!columns.rows.some(({ name }) => name === 'version'))
    await sql`alter table schema_migrations add column ${column}`.execute(db)
}

function refuseNewer(
  applied: Applied[],
  { migrations, version }: Pick<Update, 'migrations' | 'version'>,
): void {
  const unknown = applied.filter(({ name }) => !migrations.some((one) => one.name === name))
  if (unknown.length === 0) return
  const newer = unknown.findLast((one) => one.version)?.version ?? 'a later version'
  const names = unknown.map(({ name }) => `"${name}"`).join(', ')
  throw new StartError(
    `The database is newer than this version of the service: it is of Plinth ${newer}, and this is ` +
      `${version} (it has ${names}). Start ${newer}, or restore the copy made before the update.`,
  )
}

async function refuseUnfinished<T>(db: Db<T>): Promise<void> {
  if (await isUnfinished(db))
    throw new StartError(
      'A restore or a move into this database has not ended: it is not whole. Wait for it, or run it again.',
    )
}

/** The migrations that `migrate` would apply; changes nothing. Refuses a newer database. */
export async function listMissing(
  db: Db<unknown>,
  update: Pick<Update, 'migrations' | 'version'>,
): Promise<string[]> {
  const applied = await listApplied(db)
  refuseNewer(applied, update)
  return missingFrom(applied, update.migrations).map(({ name }) => name)
}
