import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { StartError } from '../../problems.ts'

const COPIES = 3

/**
 * Copies the tables into a schema of their own: rows, sequences, indexes, foreign keys and views under the same
 * names, so that going back only takes renaming the schema. The two previous copies are kept as well. Must come first in
 * its transaction: a copy is what one snapshot shows, because nodes of the older version go on writing.
 */
export async function copyTables(db: QueryExecutorProvider, version: string): Promise<void> {
  await sql`set transaction isolation level repeatable read`.execute(db)
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

async function rowsOf<R>(db: QueryExecutorProvider, query: RawBuilder<unknown>): Promise<R[]> {
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

async function copySequences(db: QueryExecutorProvider, from: string, to: string): Promise<void> {
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
