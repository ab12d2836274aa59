import { openDatabase } from '@plinth/kit'
import { BackupError } from '../faults.ts'
import type { ServiceData } from '../sources/service-data.ts'
import { openConnection } from './open.ts'
import { countRows, createMark, deleteAllRows, dropMark, insertRows } from './rows.repository.ts'
import { listTables, setNextNumber } from './schema.repository.ts'
import type { Applied, Connection, Contents, Row, Table } from './tables.ts'

type Database = NonNullable<ServiceData['database']>

/** A database that is being filled, and marked. */
export type Filling = {
  connection: Connection
  tables: Contents['tables']
  insert(table: string, rows: Row[]): Promise<void>
  /** Commits what was inserted if all of it is there. */
  commit(): Promise<void>
  close(): Promise<void>
}

/** Makes the schema of the time the rows are from, empty, in one transaction with what follows. */
export async function startFilling(
  { url, migrations }: Database,
  { migrations: applied, tables }: Contents,
): Promise<Filling> {
  const ofThatTime = migrations.filter(({ name }) => applied.some((one) => one.name === name))
  const empty = await openDatabase(url, ofThatTime, { restoring: true })
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
  const named = new Map(tables.map((table) => [table.name, table]))
  return {
    connection,
    tables,
    insert: async (name, rows) => {
      const table = named.get(name)
      if (!table) throw new BackupError('damaged', `The archive has rows of no table: ${name}.`)
      await insertRows(connection, table, rows)
    },
    commit: async () => {
      await requireCounts(connection, tables)
      for (const table of tables) await setNextNumber(connection, table)
      await connection.run('commit')
    },
    close: connection.close,
  }
}

/** From now on no service starts on it. A file that is missing is created. */
export async function mark({ url }: Pick<Database, 'url'>): Promise<void> {
  const connection = await openConnection(url)
  await createMark(connection).finally(() => connection.close())
}

/** From now on services start on it. */
export async function release({ url }: Pick<Database, 'url'>): Promise<void> {
  const connection = await openConnection(url)
  await dropMark(connection).finally(() => connection.close())
}

/** Data that this version cannot read is refused before anything is touched. */
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

function requireSameTables(given: Table[], own: Table[]): void {
  const describe = ({ name, columns }: Table) => `${name} (${columns.join(', ')})`
  const differing = given.filter((table) => !own.some((mine) => describe(mine) === describe(table)))
  if (differing.length > 0)
    throw new BackupError(
      'refused',
      `The schema differs from what its migrations make: ${differing.map(describe).join('; ')}.`,
    )
}

async function requireCounts(connection: Connection, tables: Contents['tables']): Promise<void> {
  for (const table of tables) {
    const found = await countRows(connection, table)
    if (found === table.rows) continue
    const sentence = `${table.name} should have ${table.rows} rows, and has ${found}.`
    throw new BackupError('damaged', sentence)
  }
}
