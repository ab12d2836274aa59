import type { Migration } from '@plinth/kit/database'

/** Records the events that a reader of the stream forwarded to its own receiver. */
export const forwardsMigration: Migration = {
  name: 'events-0003-forwards',
  up: async (db) => {
    await db.schema
      .createTable('event_forwards')
      .addColumn('event_serial', 'bigint', (column) => column.notNull())
      .addColumn('n', 'integer', (column) => column.notNull())
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('at', 'varchar(24)', (column) => column.notNull())
      .addColumn('duration_ms', 'integer', (column) => column.notNull())
      .addColumn('status', 'integer')
      .addColumn('error', 'text')
      .addPrimaryKeyConstraint('event_forwards_key', ['event_serial', 'n'])
      .execute()
  },
}
