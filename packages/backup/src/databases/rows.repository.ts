import { createHash } from 'node:crypto'
import { type Applied, type Connection, MARK, quoted, type Row, type Table } from './tables.ts'

function columnList({ columns }: Table): string {
  return columns.map(quoted).join(', ')
}

export function streamRows(connection: Connection, table: Table): AsyncIterable<Row[]> {
  return connection.stream(`select ${columnList(table)} from ${quoted(table.name)}`)
}

export async function countRows({ run }: Connection, { name }: Table): Promise<number> {
  const [row] = await run(`select count(*) as total from ${quoted(name)}`)
  return Number(row?.total)
}

/** SQLite takes 32,766 parameters in one statement, PostgreSQL twice as many. */
const PARAMETERS = 30_000

export async function insertRows(
  { engine, run }: Connection,
  table: Table,
  rows: Row[],
): Promise<void> {
  const width = table.columns.length
  const atOnce = Math.max(1, Math.floor(PARAMETERS / width))
  for (let start = 0; start < rows.length; start += atOnce) {
    const batch = rows.slice(start, start + atOnce)
    const tuples = batch.map(
      (_, row) =>
        `(${table.columns.map((_, column) => placeholder(row * width + column)).join(', ')})`,
    )
    const into = `insert into ${quoted(table.name)} (${columnList(table)}) values`
    await run(`${into} ${tuples.join(', ')}`, batch.flat())
  }

  function placeholder(index: number): string {
    return engine === 'sqlite' ? '?' : `$${index + 1}`
  }
}

/** Removes the rows that migrations insert into new tables, to make room for the original ones. */
export async function deleteAllRows({ run }: Connection, tables: Table[]): Promise<void> {
  for (const { name } of tables.toReversed()) await run(`delete from ${quoted(name)}`)
}

export async function createMark({ run }: Connection): Promise<void> {
  await run(`create table if not exists ${MARK} (since varchar(40))`)
}

export async function dropMark({ run }: Connection): Promise<void> {
  await run(`drop table if exists ${MARK}`)
}

export async function listApplied({ run }: Connection): Promise<Applied[]> {
  const rows = await run('select * from schema_migrations')
  return rows.map(({ name, version = null }) => ({ name: String(name), version }))
}

export type TableSum = { rows: number; hash: string }

const MODULUS = 2n ** 128n

/** A checksum of a table that does not depend on row order: engines sort text differently. */
export function createSum() {
  let rows = 0
  let total = 0n
  return {
    add(batch: Row[]): void {
      for (const row of batch) {
        const digest = createHash('sha256').update(JSON.stringify(row)).digest('hex')
        total = (total + BigInt(`0x${digest.slice(0, 32)}`)) % MODULUS
        rows += 1
      }
    },
    value: (): TableSum => ({ rows, hash: total.toString(16).padStart(32, '0') }),
  }
}

export async function sumOf(connection: Connection, table: Table): Promise<TableSum> {
  const sum = createSum()
  for await (const batch of streamRows(connection, table)) sum.add(batch)
  return sum.value()
}
