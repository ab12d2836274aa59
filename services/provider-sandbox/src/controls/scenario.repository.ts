import type { Db } from '@plinth/kit'
import type { SandboxTables } from '../state/tables.ts'

type Table = keyof SandboxTables

export const TABLES = [
  'objects',
  'counters',
  'values',
  'timers',
  'idempotency_keys',
  'deliveries',
  'delivery_attempts',
  'faults',
  'requests',
] as const satisfies Table[]

const ROWS_AT_ONCE = 50

export async function listRows(db: Db<SandboxTables>, table: Table): Promise<object[]> {
  return db.selectFrom(table).selectAll().execute()
}

export async function insertRows(
  db: Db<SandboxTables>,
  table: Table,
  rows: object[],
): Promise<void> {
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE)
    await db
      .insertInto(table)
      .values(rows.slice(start, start + ROWS_AT_ONCE) as never)
      .execute()
}

export async function deleteRows(db: Db<SandboxTables>, tables: readonly Table[]): Promise<void> {
  for (const table of tables) await db.deleteFrom(table).execute()
}
