import type { Migration } from '@plinth/kit/database'

/** A separate table: nodes that still run the previous version read `payments` without a new column. */
export const checkoutGenerationsMigration: Migration = {
  name: 'payments-0004-checkout-generations',
  up: async (db) => {
    await db.schema
      .createTable('checkout_generations')
      .addColumn('payment_id', 'varchar(36)', (column) => column.primaryKey())
      .addColumn('generation', 'integer', (column) => column.notNull())
      .execute()
  },
}
