import type { SandboxDb, SandboxTables } from '../state/tables.ts'

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

export async function listRows(db: SandboxDb, table: Table): Promise<object[]> {
  return db.selectFrom(table).selectAll().execute()
}

export async function insertRows(db: SandboxDb, table: Table, rows: object[]): Promise<void> {
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE)
    await db
      .insertInto(table)
      .values(rows.slice(start, start + ROWS_AT_ONCE) as never)
      .execute()
}

// SQLite reports an unknown column as a general error. Binding an object as a value is a TypeError.
const ROW_FAULTS = /^SQLITE_(ERROR|MISMATCH|CONSTRAINT_(NOTNULL|PRIMARYKEY|UNIQUE|ROWID))$/

/** Whether a given row is at fault rather than the database. */
export function isFaultyRow(error: unknown): error is Error {
  return (
    error instanceof TypeError ||
    (error instanceof Error && ROW_FAULTS.test((error as NodeJS.ErrnoException).code ?? ''))
  )
}

export async function deleteRows(db: SandboxDb, tables: readonly Table[]): Promise<void> {
  for (const table of tables) await db.deleteFrom(table).execute()
}
