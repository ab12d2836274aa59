import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/**
 * A row is inserted into `events` when it gets its place, so its serial number is the place. The outbox
 * keeps only the data: the rest of a body is in other columns.
 */
export const placesMigration: Migration = {
  name: 'events-0006-places',
  up: async (db, engine) => {
    await db.schema.dropIndex('events_position').execute()
    await db.schema.alterTable('events').dropColumn('position').execute()
    await db.schema.alterTable('event_outbox').dropColumn('head').execute()
    const data =
      engine === 'sqlite'
        ? sql`json_extract('{' || tail, '$.data')`
        : sql`cast(cast('{' || tail as json) -> 'data' as text)`
    await sql`update event_outbox set tail = ${data}`.execute(db)
    await db.schema.alterTable('event_outbox').renameColumn('tail', 'data').execute()
  },
}
