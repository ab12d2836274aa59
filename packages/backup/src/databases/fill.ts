import { openDatabase } from '@plinth/kit/database'
import { BackupError, damaged } from '../faults.ts'
import type { ServiceData } from '../sources/service-data.ts'
import { openConnection } from './open.ts'
import { countRows, createMark, deleteAllRows, dropMark, insertRows } from './rows.repository.ts'
import { listTables, setNextNumber } from './schema.repository.ts'
import type { Applied, Connection, Contents, Row, Table } from './tables.ts'

type Database = NonNullable<ServiceData['database']>

/** A database that is being filled and carries the restore mark. */
export type Filling = {
  connection: Connection
  tables: Contents['tables']
  insert(table: string, rows: Row[]): Promise<void>
  /** Commits if every expected row was inserted. */
  commit(): Promise<void>
  close(): Promise<void>
}

/** Creates the schema as it was when the rows were written, and empties it in the transaction that inserts them. */
export async function startFilling(
  { url, migrations }: Database,
  { migrations: applied, tables }: Contents,
): Promise<Filling> {
  const appliedThen = migrations.filter(({ name }) => applied.some((one) => one.name === name))
  const empty = await openDatabase(url, appliedThen, { restoring: true })
  await empty.close()
  const connection = await openConnection(url)
  try {
    await connection.run(connection.engine === 'sqlite' ? 'begin immediate' : 'begin')
    const own = await listTables(connection)
    requireSameTables(tables, own)
    await deleteAllRows(connection, own)
  } catch (error) {
    await connection.close()
    throw error
  }
  const byName = new Map(tables.map((table) => [table.name, { table, left: table.rows }]))
  return {
    connection,
    tables,
    insert: async (name, rows) => {
      const known = byName.get(name)
      if (!known)
        throw new BackupError('damaged', `The archive has rows of an unknown table: ${name}.`)
      known.left -= rows.length
      if (known.left < 0) throw damaged(`it has more rows of ${name} than it says`)
      if (rows.some(({ length }) => length !== known.table.columns.length))
        throw damaged(`a row of ${name} does not have its columns`)
      await insertRows(connection, known.table, rows)
    },
    commit: async () => {
      await requireCounts(connection, tables)
      for (const table of tables) await setNextNumber(connection, table)
      await connection.run('commit')
    },
    close: connection.close,
  }
}

/** From now on no service starts on this database. Creates a missing SQLite file. */
export async function mark({ url }: Pick<Database, 'url'>): Promise<void> {
  const connection = await openConnection(url)
  await createMark(connection).finally(() => connection.close())
}

/** From now on services start on this database. */
export async function release({ url }: Pick<Database, 'url'>): Promise<void> {
  const connection = await openConnection(url)
  await dropMark(connection).finally(() => connection.close())
}

/** Refuses data that this version cannot read, before anything is changed. */
export function requireKnown(
  service: string,
  { migrations }: Database,
  applied: Applied[],
  versions: { data: string; code: string },
): void {
  const unknown = applied.filter(({ name }) => !migrations.some((one) => one.name === name))
  if (unknown.length === 0) return
  const names = unknown.map(({ name }) => `"${name}"`).join(', ')
  throw new BackupError(
    'refused',
    `The data of ${service} is of Plinth ${versions.data}, and this is ${versions.code}, which is older (it does not know ${names}).`,
  )
}

/** What 1.0 created: a database that no migration has changed since has no column for versions. */
const MIGRATIONS_OF_1_0 = 'schema_migrations (name)'

function requireSameTables(given: Table[], own: Table[]): void {
  const describe = ({ name, columns }: Table) => `${name} (${columns.join(', ')})`
  const known = new Set([...own.map(describe), MIGRATIONS_OF_1_0])
  const differing = given.filter((table) => !known.has(describe(table)))
  if (differing.length > 0)
    throw new BackupError(
      'refused',
      `The schema differs from what its migrations create: ${differing.map(describe).join('; ')}.`,
    )
}

async function requireCounts(connection: Connection, tables: Contents['tables']): Promise<void> {
  for (const table of tables) {
    const found = await countRows(connection, table)
    if (found === table.rows) continue
    const sentence = `${table.name} should have ${table.rows} rows but has ${found}.`
    throw new BackupError('damaged', sentence)
  }
}
