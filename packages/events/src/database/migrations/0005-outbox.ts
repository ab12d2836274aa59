import { idColumn, type Migration } from '@plinth/kit/database'
import { type Kysely, sql } from 'kysely'

/** The change writes its event to this table without indexes; it is moved to `events` afterwards. */
export const outboxMigration: Migration = {
  name: 'events-0005-outbox',
  up: async (db, engine) => {
    await db.schema
      .createTable('event_outbox')
      .addColumn('n', ...idColumn(engine))
      .addColumn('id', 'varchar(40)', (column) => column.notNull())
      .addColumn('type', 'varchar(64)', (column) => column.notNull())
      .addColumn('subject', 'varchar(255)', (column) => column.notNull())
      .addColumn('created_at', 'varchar(24)', (column) => column.notNull())
      .addColumn('endpoint_id', 'varchar(40)')
      .addColumn('traceparent', 'varchar(55)')
      .addColumn('head', 'text', (column) => column.notNull())
      .addColumn('tail', 'text', (column) => column.notNull())
      .execute()
    await placeWaiting(db)
    await db.schema.dropIndex('events_unnumbered').execute()
  },
}

/** Handles the events that the previous version left without a place and without deliveries. */
async function placeWaiting(db: Kysely<unknown>): Promise<void> {
  await sql`
    insert into event_deliveries
      (event_serial, endpoint_id, state, attempts, attempts_before, ${sql.ref('trigger')}, next_attempt_at)
    select serial, endpoint.id, 'pending', 0, 0, 'event', events.created_at
    from events join event_endpoints as endpoint on endpoint.state <> 'disabled'
      and case when events.endpoint_id is not null then events.endpoint_id = endpoint.id
        else endpoint.types = '[]' or endpoint.types like '%"' || events.type || '"%' end
    where events.position is null
    order by serial`.execute(db)
  await sql`
    update events set position = fresh.place
    from (select serial as waiting, row_number() over (order by serial)
        + coalesce((select max(position) from events), 0) as place
      from events where position is null) as fresh
    where serial = fresh.waiting`.execute(db)
}
