import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/**
 * Whether the database was restored, and how far old rows have been cleared, were kept as rows of the table of
 * polls. Each has a table of its own now.
 */
export const marksMigration: Migration = {
  name: 'payments-0008-marks',
  up: async (db) => {
    await db.schema
      .createTable('restores')
      .addColumn('at', 'varchar(24)', (column) => column.primaryKey())
      .execute()
    await db.schema
      .createTable('clearings')
      .addColumn('name', 'varchar(64)', (column) => column.primaryKey())
      .addColumn('at', 'varchar(24)', (column) => column.notNull())
      .addColumn('key', 'varchar(255)', (column) => column.notNull())
      .execute()
    await sql`insert into restores (at)
      select polled_until from event_polls where name = 'restored'`.execute(db)
    await sql`insert into clearings (name, at, key)
      select name, polled_until, window_after from event_polls
      where name in ('cleared-events', 'cleared-observations')`.execute(db)
    await sql`delete from event_polls
      where name in ('restored', 'cleared-events', 'cleared-observations')`.execute(db)
  },
}
