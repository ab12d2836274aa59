import { idColumn, type Migration } from '@plinth/kit'

export const deliveries: Migration = {
  name: 'sandbox-0002-deliveries',
  up: async (db, engine) => {
    const id = idColumn(engine)
    await db.schema
      .createTable('deliveries')
      .addColumn('id', ...id)
      .addColumn('event_id', 'text', (column) => column.notNull())
      .addColumn('endpoint_id', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('next_attempt_at', 'text', (column) => column.notNull())
      .execute()
    await db.schema
      .createIndex('deliveries_due')
      .on('deliveries')
      .columns(['state', 'next_attempt_at'])
      .execute()
    await db.schema.createIndex('deliveries_event').on('deliveries').column('event_id').execute()

    await db.schema
      .createTable('delivery_attempts')
      .addColumn('id', ...id)
      .addColumn('delivery_id', 'integer', (column) => column.notNull())
      .addColumn('at', 'text', (column) => column.notNull())
      .addColumn('request_headers', 'text', (column) => column.notNull())
      .addColumn('request_body', 'text', (column) => column.notNull())
      .addColumn('status', 'integer')
      .addColumn('response_headers', 'text', (column) => column.notNull())
      .addColumn('response_body', 'text', (column) => column.notNull())
      .addColumn('error', 'text')
      .addColumn('milliseconds', 'integer', (column) => column.notNull())
      .execute()
    await db.schema
      .createIndex('delivery_attempts_delivery')
      .on('delivery_attempts')
      .column('delivery_id')
      .execute()
  },
}
