import { type Kysely, sql } from 'kysely'
import manifest from '../../package.json' with { type: 'json' }
import { StartError } from '../problems.ts'
import { RESTORE_MARK } from '../runtime/unfinished-restore.ts'
import { databaseFault, type Engine } from './engine.ts'
import { copyTables } from './postgres/table-copies.ts'
import { inTransaction } from './transaction.ts'

/** Forward only. Names are unique for all time: `accounts-0001-users`. */
export type Migration = {
  name: string
  // biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its time
  up(db: Kysely<any>, engine: Engine): Promise<void>
}

/** The product version, which all packages share. */
export const VERSION: string = manifest.version

/** `version` is missing on rows that 1.0 wrote. */
type MigrationTables = { schema_migrations: { name: string; version?: string | null } }

type Applied = MigrationTables['schema_migrations']

const LOCK = 7_264_108

/**
 * Brings the schema up to date under a lock and in one transaction: when several nodes start at once,
 * one does the work and the others wait for it.
 */
export async function migrate(connection: Kysely<unknown>, update: Update): Promise<void> {
  const db = connection.$extendTables<MigrationTables>()
  if (!update.restoring) await refuseUnfinished(db, update.engine)
  const known = await listApplied(db).catch((): Applied[] => [])
  refuseNewer(known, update)
  if (missingFrom(known, update.migrations).length === 0) return
  const applyUnderLock = async (transaction: typeof db) => {
    if (update.engine === 'postgres') {
      await sql`set local statement_timeout = 0`.execute(transaction)
      await sql`select pg_advisory_xact_lock(${LOCK})`.execute(transaction)
    }
    await applyMissing(transaction, update)
  }
  // No timeout: building an index over many rows takes long, and so does waiting for the node that builds it.
  await inTransaction(db, applyUnderLock, { isPatient: true })
}

type Update = {
  engine: Engine
  migrations: Migration[]
  version: string
  /** Set when the restore itself opens the database. */
  restoring?: boolean
  /** Copies the database before it changes; PostgreSQL copies its tables in the same transaction instead. */
  backUp?(version: string): Promise<void>
  /** Whether to copy the tables on PostgreSQL; on by default. */
  migrationCopy?: boolean
}

async function applyMissing(
  db: Kysely<MigrationTables>,
  { engine, migrations, version, restoring, backUp, migrationCopy = true }: Update,
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
  if (applied.length > 0 && !restoring) {
    await backUp?.(version)
    if (engine === 'postgres' && migrationCopy) await copyTables(db, version)
  }
  await addVersion(db, engine)
  for (const { name, up } of missing) {
    await up(db, engine)
    await db.insertInto('schema_migrations').values({ name, version }).execute()
  }
}

/** Selects all columns, because a database of 1.0 has no `version`. */
async function listApplied(db: Kysely<MigrationTables>): Promise<Applied[]> {
  return db.selectFrom('schema_migrations').selectAll().execute()
}

function missingFrom(applied: Applied[], migrations: Migration[]): Migration[] {
  return migrations.filter(({ name }) => !applied.some((one) => one.name === name))
}

async function addVersion(db: Kysely<MigrationTables>, engine: Engine): Promise<void> {
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

async function refuseUnfinished(db: Kysely<MigrationTables>, engine: Engine): Promise<void> {
  const mark =
    engine === 'postgres'
      ? sql`select 1 where to_regclass(${RESTORE_MARK}) is not null`
      : sql`select 1 from sqlite_master where name = ${RESTORE_MARK}`
  const { rows } = await mark.execute(db)
  if (rows.length > 0)
    throw new StartError(
      'A restore or a move into this database has not ended: it is not whole. Wait for it, or run it again.',
    )
}

/** The migrations that `migrate` would apply; changes nothing. Refuses a newer database. */
export async function listMissing(
  connection: Kysely<unknown>,
  update: Pick<Update, 'migrations' | 'version'>,
): Promise<string[]> {
  const db = connection.$extendTables<MigrationTables>()
  const applied = await listApplied(db).catch((error): Applied[] => {
    if (databaseFault(error)) throw error
    return []
  })
  refuseNewer(applied, update)
  return missingFrom(applied, update.migrations).map(({ name }) => name)
}
