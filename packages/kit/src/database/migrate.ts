import { type Kysely, type RawBuilder, sql } from 'kysely'
import manifest from '../../package.json' with { type: 'json' }
import { StartError } from '../problems.ts'
import { RESTORE_MARK } from '../runtime/unfinished-restore.ts'
import { databaseFault, type Engine } from './engine.ts'
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
export async function migrate<T>(connection: Kysely<T>, update: Update): Promise<void> {
  const db = connection as unknown as Kysely<MigrationTables>
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

const COPIES = 3

/**
 * Copies the tables into a schema of their own: rows, sequences, indexes, foreign keys and views under the same
 * names, so that going back only takes renaming the schema. The two previous copies are kept as well.
 */
async function copyTables(db: Kysely<MigrationTables>, version: string): Promise<void> {
  const [{ schema, path } = { schema: 'public', path: 'public' }] = await rowsOf<SchemaAndPath>(
    db,
    sql`select current_schema() as schema, current_setting('search_path') as path`,
  )
  const prefix = `${schema}_before_`
  const copy = sql.id(`${prefix}${version}`)
  const tables = await rowsOf<{ name: string }>(
    db,
    sql`select tablename as name from pg_tables where schemaname = ${schema} order by tablename`,
  )
  const definitions = await rowsOf<{ text: string }>(db, definitionsIn(schema))
  await sql`drop schema if exists ${copy} cascade`.execute(db)
  await sql`create schema ${copy}`.execute(db).catch(refuseWithoutCopy)
  // All tables are locked at once for a consistent copy: nodes of the older version may still be writing.
  const all = tables.map(({ name }) => sql.table(name))
  await sql`lock table ${sql.join(all)} in share mode`.execute(db)
  for (const { name } of tables) {
    const [from, to] = [sql.table(name), sql`${copy}.${sql.id(name)}`]
    await sql`create table ${to} (like ${from} including all excluding indexes)`.execute(db)
    await sql`insert into ${to} overriding system value select * from ${from}`.execute(db)
  }
  await copySequences(db, schema, `${prefix}${version}`)
  await sql`select set_config('search_path', ${`"${prefix}${version}"`}, true)`.execute(db)
  for (const { text } of definitions) await sql.raw(text).execute(db)
  await sql`select set_config('search_path', ${path}, true)`.execute(db)
  const old = await rowsOf<{ name: string }>(
    db,
    sql`select nspname as name from pg_namespace where starts_with(nspname, ${prefix})
      order by oid desc offset ${COPIES}`,
  )
  for (const { name } of old) await sql`drop schema ${sql.id(name)} cascade`.execute(db)
}

type SchemaAndPath = { schema: string; path: string }

async function rowsOf<R>(db: Kysely<MigrationTables>, query: RawBuilder<unknown>): Promise<R[]> {
  return (await query.execute(db)).rows as R[]
}

/**
 * Keys, then indexes, then the foreign keys that need them, then views in the order in which they were created.
 * Unqualified: the search path names the schema.
 */
function definitionsIn(schema: string): RawBuilder<unknown> {
  return sql`
    select format('alter table %I add constraint %I %s', t.relname, conname, pg_get_constraintdef(c.oid, true))
        as text, array_position(array['p', 'u', 'i', 'f'], contype::text) as place
      from pg_constraint c join pg_class t on t.oid = conrelid
      where t.relnamespace = ${schema}::regnamespace and contype in ('p', 'u', 'f')
    union all
    select pg_get_indexdef(indexrelid, 0, true), 3
      from pg_index join pg_class t on t.oid = indrelid
      where t.relnamespace = ${schema}::regnamespace
        and not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u'))
    union all
    select format('create view %I as %s', relname, pg_get_viewdef(oid)), 4 + row_number() over (order by oid)
      from pg_class
      where relnamespace = ${schema}::regnamespace and relkind = 'v'
    order by place`
}

async function copySequences(db: Kysely<MigrationTables>, from: string, to: string): Promise<void> {
  const sequences = await rowsOf<{ sequence: string; copied: string }>(
    db,
    sql`select pg_get_serial_sequence(format('%I.%I', table_schema, table_name), column_name) as sequence,
        pg_get_serial_sequence(format('%I.%I', ${to}::text, table_name), column_name) as copied
      from information_schema.columns where table_schema = ${from} and is_identity = 'YES'`,
  )
  for (const { sequence, copied } of sequences)
    await sql`select setval(${copied}, last_value, is_called) from ${sql.raw(sequence)}`.execute(db)
}

function refuseWithoutCopy(error: Error): never {
  throw new StartError(
    `No copy of the tables can be made before they are updated: ${error.message}. Grant CREATE on the ` +
      'database, or make a backup with the older version and set …_DATABASE_MIGRATION_COPY=false.',
    { cause: error },
  )
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
export async function listMissing<T>(
  connection: Kysely<T>,
  update: Pick<Update, 'migrations' | 'version'>,
): Promise<string[]> {
  const db = connection as unknown as Kysely<MigrationTables>
  const applied = await listApplied(db).catch((error): Applied[] => {
    if (databaseFault(error)) throw error
    return []
  })
  refuseNewer(applied, update)
  return missingFrom(applied, update.migrations).map(({ name }) => name)
}
