import type { Migration } from '@plinth/kit/database'

/** Where reading a long list of events was interrupted. */
export const pollCursorMigration: Migration = {
  name: 'payments-0002-poll-cursor',
  up: async (db) => {
    await db.schema.alterTable('event_polls').addColumn('window_to', 'varchar(24)').execute()
    await db.schema.alterTable('event_polls').addColumn('window_after', 'varchar(255)').execute()
  },
}
