import type { Migration } from '@plinth/kit'

/** The trace that an event belongs to goes on with its deliveries. */
export const traceparentMigration: Migration = {
  name: 'events-0002-traceparent',
  up: async (db) => {
    await db.schema.alterTable('events').addColumn('traceparent', 'varchar(55)').execute()
  },
}
