import type { Migration } from '@plinth/kit/database'

/** Stores the trace of an event, so that its deliveries can continue it. */
export const traceparentMigration: Migration = {
  name: 'events-0002-traceparent',
  up: async (db) => {
    await db.schema.alterTable('events').addColumn('traceparent', 'varchar(55)').execute()
  },
}
