import { idColumn, type Migration } from '@plinth/kit/database'
import { type Kysely, sql } from 'kysely'

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema as it was when it was written
type AnyDb = Kysely<any>

export const eventsMigration: Migration = {
  name: 'events-0001-events',
  up: async (db, engine) => {
    await createEvents(db, engine)
    await createEndpoints(db)
    await createDeliveries(db, engine)
  },
}

async function createEvents(db: AnyDb, engine: Parameters<typeof idColumn>[0]): Promise<void> {
  await db.schema
    .createTable('events')
    .addColumn('serial', ...idColumn(engine))
    .addColumn('id', 'varchar(40)', (column) => column.notNull().unique())
    .addColumn('type', 'varchar(64)', (column) => column.notNull())
    .addColumn('subject', 'varchar(255)', (column) => column.notNull())
    .addColumn('sequence', 'bigint', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('created_at', 'varchar(24)', (column) => column.notNull())
    .addColumn('position', 'bigint')
    .addColumn('endpoint_id', 'varchar(40)')
    .execute()
  await db.schema
    .createIndex('events_position')
    .on('events')
    .column('position')
    .unique()
    .where('position', 'is not', null)
    .execute()
  await db.schema
    .createIndex('events_unnumbered')
    .on('events')
    .column('serial')
    .where(sql.ref('position'), 'is', null)
    .execute()
  await db.schema.createIndex('events_created_at').on('events').column('created_at').execute()
  await db.schema.createIndex('events_subject').on('events').column('subject').execute()
  await db.schema
    .createTable('event_subjects')
    .addColumn('subject', 'varchar(255)', (column) => column.primaryKey())
    .addColumn('sequence', 'bigint', (column) => column.notNull())
    .execute()
}

async function createEndpoints(db: AnyDb): Promise<void> {
  await db.schema
    .createTable('event_endpoints')
    .addColumn('id', 'varchar(40)', (column) => column.primaryKey())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('description', 'text', (column) => column.notNull())
    .addColumn('types', 'text', (column) => column.notNull())
    .addColumn('secret', 'text', (column) => column.notNull())
    .addColumn('old_secrets', 'text', (column) => column.notNull())
    .addColumn('state', 'varchar(16)', (column) => column.notNull())
    .addColumn('state_reason', 'text')
    .addColumn('created_at', 'varchar(24)', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('first_failure_at', 'varchar(24)')
    .addColumn('last_success_at', 'varchar(24)')
    .addColumn('warned', 'integer', (column) => column.notNull())
    .execute()
}

async function createDeliveries(db: AnyDb, engine: Parameters<typeof idColumn>[0]): Promise<void> {
  await db.schema
    .createTable('event_deliveries')
    .addColumn('id', ...idColumn(engine))
    .addColumn('event_serial', 'bigint', (column) => column.notNull())
    .addColumn('endpoint_id', 'varchar(40)', (column) => column.notNull())
    .addColumn('state', 'varchar(16)', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('attempts_before', 'integer', (column) => column.notNull())
    .addColumn('trigger', 'varchar(16)', (column) => column.notNull())
    .addColumn('next_attempt_at', 'varchar(24)')
    .addColumn('lease_until', 'varchar(24)')
    .addColumn('lease_owner', 'varchar(40)')
    .addUniqueConstraint('event_deliveries_key', ['event_serial', 'endpoint_id'])
    .execute()
  await db.schema
    .createIndex('event_deliveries_due')
    .on('event_deliveries')
    .columns(['endpoint_id', 'next_attempt_at'])
    .where('next_attempt_at', 'is not', null)
    .execute()
  await db.schema
    .createIndex('event_deliveries_leased')
    .on('event_deliveries')
    .columns(['endpoint_id', 'lease_until'])
    .where('lease_until', 'is not', null)
    .execute()
  await db.schema
    .createTable('event_attempts')
    .addColumn('delivery_id', 'bigint', (column) => column.notNull())
    .addColumn('n', 'integer', (column) => column.notNull())
    .addColumn('at', 'varchar(24)', (column) => column.notNull())
    .addColumn('duration_ms', 'integer', (column) => column.notNull())
    .addColumn('status', 'integer')
    .addColumn('error', 'text')
    .addColumn('reply', 'text')
    .addColumn('trigger', 'varchar(16)', (column) => column.notNull())
    .addPrimaryKeyConstraint('event_attempts_key', ['delivery_id', 'n'])
    .execute()
}
