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

// An unknown column is a general error; a value that is an object cannot be bound.
const ROW_FAULTS = /^SQLITE_(ERROR|MISMATCH|CONSTRAINT_(NOTNULL|PRIMARYKEY|UNIQUE|ROWID))$/

/** Whether a given row is at fault and not the database. */
export function isFaultyRow(error: unknown): error is Error {
  return (
    error instanceof TypeError ||
    (error instanceof Error && ROW_FAULTS.test((error as NodeJS.ErrnoException).code ?? ''))
  )
}

export async function deleteRows(db: SandboxDb, tables: readonly Table[]): Promise<void> {
  for (const table of tables) await db.deleteFrom(table).execute()
}
