import { countRows, listApplied } from './rows.repository.ts'
import { type Connection, type Contents, isKept, quoted, type Table, type Value } from './tables.ts'

/** All tables to back up, each after the tables it references. */
export async function listTables(connection: Connection): Promise<Table[]> {
  const names = (await tableNames(connection)).filter(isKept)
  const references = await listReferences(connection, names)
  const tables: Table[] = []
  for (const name of inDependencyOrder(names, references)) {
    const columns = await columnsOf(connection, name)
    tables.push({ name, columns, next: await nextNumber(connection, name) })
  }
  return tables
}

/** Without the `derived` tables, which are computed again after a restore. */
export async function contentsOf(
  connection: Connection,
  derived: string[] = [],
): Promise<Contents> {
  const migrations = await listApplied(connection)
  const tables: Contents['tables'] = []
  for (const table of await listTables(connection))
    if (!derived.includes(table.name))
      tables.push({ ...table, rows: await countRows(connection, table) })
  return { engine: connection.engine, migrations, tables }
}

/** The size of the tables on disk. A PostgreSQL database may also hold copies of earlier versions in other schemas. */
export async function databaseBytes({ engine, run }: Connection): Promise<number> {
  const [row] = await run(
    engine === 'sqlite'
      ? 'select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()'
      : `select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as bytes from pg_class c
          where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace`,
  )
  return Number(row?.bytes ?? 0)
}

export async function tableNames({ engine, run }: Connection): Promise<string[]> {
  const rows = await run(
    engine === 'sqlite'
      ? // Not an index with tables of its own (FTS5), which triggers fill.
        "select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite_%' order by name"
      : 'select tablename as name from pg_tables where schemaname = current_schema() order by tablename',
  )
  return rows.map(({ name }) => String(name))
}

async function columnsOf({ engine, run }: Connection, table: string): Promise<string[]> {
  const rows =
    engine === 'sqlite'
      ? await run(`pragma table_info(${quoted(table)})`)
      : await run(
          `select column_name as name from information_schema.columns
            where table_schema = current_schema() and table_name = $1 order by ordinal_position`,
          [table],
        )
  return rows.map(({ name }) => String(name)).sort()
}

type Reference = { from: Value | undefined; to: Value | undefined }

async function listReferences({ engine, run }: Connection, names: string[]): Promise<Reference[]> {
  if (engine === 'postgres') {
    const rows = await run(
      `select source.relname as "from", target.relname as "to" from pg_constraint
        join pg_class source on source.oid = conrelid join pg_class target on target.oid = confrelid
        where contype = 'f' and source.relnamespace = current_schema()::regnamespace`,
    )
    return rows as Reference[]
  }
  const found = await Promise.all(
    names.map(async (from) => {
      const rows = await run(`pragma foreign_key_list(${quoted(from)})`)
      return rows.map(({ table: to }): Reference => ({ from, to }))
    }),
  )
  return found.flat()
}

function inDependencyOrder(names: string[], references: Reference[]): string[] {
  const placed = new Set<string>()
  const place = (name: string) => {
    if (placed.has(name)) return
    for (const { from, to } of references)
      if (from === name && to !== name && names.includes(String(to))) place(String(to))
    placed.add(name)
  }
  for (const name of names) place(name)
  return [...placed]
}

/** Numbers of deleted rows are never reused, so the highest one in use is not enough. */
async function nextNumber(connection: Connection, table: string): Promise<number | undefined> {
  const { engine, run } = connection
  if (engine === 'sqlite') {
    const [counting] = await run(
      "select name from sqlite_master where name = ? and sql like '%autoincrement%'",
      [table],
    )
    if (!counting) return undefined
    const [row] = await run('select seq from sqlite_sequence where name = ?', [table])
    return Number(row?.seq ?? 0) + 1
  }
  const sequence = await sequenceOf(connection, table)
  if (sequence === undefined) return undefined
  const [row] = await run(`select last_value, is_called::int as called from ${sequence}`)
  return Number(row?.last_value) + Number(row?.called)
}

/** The sequence of the auto-increment column, whatever its name. PostgreSQL quotes it where necessary. */
async function sequenceOf({ run }: Connection, table: string): Promise<string | undefined> {
  const rows = await run(
    `select pg_get_serial_sequence($1, column_name) as sequence from information_schema.columns
      where table_schema = current_schema() and table_name = $2`,
    [quoted(table), table],
  )
  const counting = rows.find(({ sequence }) => sequence !== null && sequence !== undefined)
  return counting && String(counting.sequence)
}

export async function setNextNumber(connection: Connection, { name, next }: Table): Promise<void> {
  if (next === undefined) return
  const { engine, run } = connection
  if (engine === 'sqlite') {
    await run('delete from sqlite_sequence where name = ?', [name])
    await run('insert into sqlite_sequence (name, seq) values (?, ?)', [name, next - 1])
    return
  }
  const sequence = await sequenceOf(connection, name)
  if (sequence !== undefined) await run('select setval($1, $2, false)', [sequence, next])
}

/** The problems that SQLite's own checks find in a file. */
export async function listFaults({ run }: Connection): Promise<string[]> {
  const integrity = await run('pragma integrity_check')
  const references = await run('pragma foreign_key_check')
  const broken = integrity.map((row) => String(row.integrity_check)).filter((text) => text !== 'ok')
  return [...broken, ...references.map(({ table }) => `a row of ${table} refers to a missing row`)]
}

/** The maximum length of each column of a table that has one, in characters. */
export async function listTextLimits(
  { engine, run }: Connection,
  { name }: Table,
): Promise<Map<string, number>> {
  if (engine === 'sqlite') return new Map()
  const rows = await run(
    `select column_name as name, character_maximum_length as most
      from information_schema.columns where table_schema = current_schema()
      and table_name = $1 and character_maximum_length is not null`,
    [name],
  )
  return new Map(rows.map((row) => [String(row.name), Number(row.most)]))
}
