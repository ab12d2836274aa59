import { type Kysely, sql } from 'kysely'
import { StartError } from '../problems.ts'
import type { Engine } from './engine.ts'
import { inTransaction } from './transaction.ts'

/** Forward only. Names are unique for all time: `accounts-0001-users`. */
export type Migration = {
  name: string
  // biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its time
  up(db: Kysely<any>, engine: Engine): Promise<void>
}

type MigrationTables = { schema_migrations: { name: string } }

const LOCK = 7_264_108

/**
 * Brings the schema up to date under a lock, all of it in one transaction: of several nodes that
 * start at once one does the work and the others wait for it.
 */
export async function migrate<T>(
  connection: Kysely<T>,
  engine: Engine,
  migrations: Migration[],
  backUp: () => Promise<void>,
): Promise<void> {
  const db = connection as unknown as Kysely<MigrationTables>
  const known = await appliedNames(db).catch((): string[] => [])
  refuseNewer(known, migrations)
  if (migrations.every(({ name }) => known.includes(name))) return
  await inTransaction(db, async (transaction) => {
    if (engine === 'postgres') {
      // An index over many rows takes its time, and so does waiting for the node that makes it.
      await sql`set local statement_timeout = 0`.execute(transaction)
      await sql`select pg_advisory_xact_lock(${LOCK})`.execute(transaction)
    }
    await applyMissing(transaction, { engine, migrations, backUp })
  })
}

type Update = { engine: Engine; migrations: Migration[]; backUp: () => Promise<void> }

async function applyMissing(
  db: Kysely<MigrationTables>,
  { engine, migrations, backUp }: Update,
): Promise<void> {
  await db.schema
    .createTable('schema_migrations')
    .ifNotExists()
    .addColumn('name', 'varchar(200)', (column) => column.primaryKey())
    .execute()
  const applied = await appliedNames(db)
  refuseNewer(applied, migrations)
  const missing = migrations.filter(({ name }) => !applied.includes(name))
  if (applied.length > 0 && missing.length > 0) await backUp()
  for (const { name, up } of missing) {
    await up(db, engine)
    await db.insertInto('schema_migrations').values({ name }).execute()
  }
}

async function appliedNames(db: Kysely<MigrationTables>): Promise<string[]> {
  const rows = await db.selectFrom('schema_migrations').select('name').execute()
  return rows.map(({ name }) => name)
}

function refuseNewer(applied: string[], migrations: Migration[]): void {
  const unknown = applied.filter((name) => !migrations.some((one) => one.name === name))
  if (unknown.length > 0)
    throw new StartError(
      `The database is newer than this version of the service (it has "${unknown.join('", "')}"). ` +
        'Start the newer version, or restore the copy made before the update.',
    )
}
