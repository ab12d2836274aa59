import type { Migration } from '@plinth/kit/database'

const SPARSE = [
  ['webhook_events', 'next_try_at'],
  ['webhook_events', 'parked_for'],
  ['payments', 'next_check_at'],
] as const

/** These columns are mostly null: a partial index is smaller and rarely written. */
export const sparseIndexesMigration: Migration = {
  name: 'payments-0003-sparse-indexes',
  up: async (db) => {
    for (const [table, column] of SPARSE) {
      const name = `${table}_${column}_index`
      await db.schema.dropIndex(name).execute()
      await db.schema
        .createIndex(name)
        .on(table)
        .column(column)
        .where(column, 'is not', null)
        .execute()
    }
  },
}
