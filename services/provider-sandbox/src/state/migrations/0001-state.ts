import { idColumn, type Migration } from '@plinth/kit'
import { sql } from 'kysely'

export const state: Migration = {
  name: 'sandbox-0001-state',
  up: async (db, engine) => {
    const id = idColumn(engine)
    await db.schema
      .createTable('objects')
      .addColumn('seq', ...id)
      .addColumn('id', 'text', (column) => column.notNull().unique())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('created', 'integer', (column) => column.notNull())
      .addColumn('parent', 'text')
      .addColumn('body', 'text', (column) => column.notNull())
      .addColumn('hidden', 'text', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('objects_kind').on('objects').columns(['kind', 'seq']).execute()
    await db.schema.createIndex('objects_parent').on('objects').columns(['parent']).execute()
    await sql`create index objects_payment_intent
      on objects (kind, json_extract(body, '$.payment_intent'))`.execute(db)

    await db.schema
      .createTable('counters')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('value', 'integer', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('values')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('value', 'text', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('timers')
      .addColumn('id', ...id)
      .addColumn('due_at', 'text', (column) => column.notNull())
      .addColumn('action', 'text', (column) => column.notNull())
      .addColumn('object_id', 'text', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('timers_due').on('timers').columns(['due_at']).execute()
    await db.schema
      .createTable('idempotency_keys')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('fingerprint', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .addColumn('status', 'integer')
      .addColumn('body', 'text')
      .addColumn('request_id', 'text', (column) => column.notNull())
      .execute()
  },
}
