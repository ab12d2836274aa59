import { idColumn, type Migration } from '@plinth/kit/database'
import type { Kysely } from 'kysely'

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema as of its own version
type AnyDb = Kysely<any>

export const paymentsMigration: Migration = {
  name: 'payments-0001-payments',
  up: async (db, engine) => {
    await createPayments(db)
    await createAttempts(db)
    await createRefundIntents(db)
    await createRefunds(db)
    await createWebhookEvents(db)
    const [idType, asId] = idColumn(engine)
    await db.schema
      .createTable('observations')
      .addColumn('id', idType, asId)
      .addColumn('payment_id', 'varchar(36)')
      .addColumn('at', 'varchar(24)', (column) => column.notNull())
      .addColumn('source', 'varchar(16)', (column) => column.notNull())
      .addColumn('kind', 'varchar(255)', (column) => column.notNull())
      .addColumn('subject', 'varchar(255)')
      .addColumn('event_id', 'varchar(255)')
      .addColumn('note', 'text')
      .addColumn('anomaly', 'varchar(64)')
      .addColumn('status_before', 'varchar(48)')
      .addColumn('status_after', 'varchar(48)')
      .execute()
    await index(db, 'observations', ['payment_id', 'id'])
    await db.schema
      .createTable('event_polls')
      .addColumn('name', 'varchar(64)', (column) => column.primaryKey())
      .addColumn('polled_until', 'varchar(24)', (column) => column.notNull())
      .execute()
  },
}

async function createPayments(db: AnyDb): Promise<void> {
  await db.schema
    .createTable('payments')
    .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
    .addColumn('business_reference', 'text', (column) => column.notNull().unique())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addColumn('currency', 'varchar(3)', (column) => column.notNull())
    .addColumn('provider_customer_id', 'varchar(255)')
    .addColumn('status', 'varchar(24)', (column) => column.notNull())
    .addColumn('checkout_status', 'varchar(16)')
    .addColumn('refunded_amount', 'bigint', (column) => column.notNull())
    .addColumn('session_id', 'varchar(255)')
    .addColumn('payment_intent_id', 'varchar(255)')
    .addColumn('attempt_reference', 'text')
    .addColumn('anomalies', 'text', (column) => column.notNull())
    .addColumn('created_at', 'varchar(24)', (column) => column.notNull())
    .addColumn('updated_at', 'varchar(24)', (column) => column.notNull())
    .addColumn('next_check_at', 'varchar(24)')
    .addColumn('checks', 'integer', (column) => column.notNull())
    .execute()
  await index(db, 'payments', ['next_check_at'])
  await index(db, 'payments', ['created_at'])
}

async function createAttempts(db: AnyDb): Promise<void> {
  await db.schema
    .createTable('attempts')
    .addColumn('payment_id', 'varchar(36)', (column) => column.notNull())
    .addColumn('sequence', 'integer', (column) => column.notNull())
    .addColumn('reference', 'text', (column) => column.notNull())
    .addColumn('state', 'varchar(16)', (column) => column.notNull())
    .addColumn('session_id', 'varchar(255)', (column) => column.unique())
    .addColumn('payment_intent_id', 'varchar(255)')
    .addColumn('url', 'text')
    .addColumn('expires_at', 'varchar(24)')
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('idempotency_key', 'varchar(255)', (column) => column.notNull())
    .addColumn('first_sent_at', 'varchar(24)', (column) => column.notNull())
    .addPrimaryKeyConstraint('attempts_key', ['payment_id', 'sequence'])
    .addUniqueConstraint('attempts_reference', ['payment_id', 'reference'])
    .execute()
  await index(db, 'attempts', ['payment_intent_id'])
}

async function createRefundIntents(db: AnyDb): Promise<void> {
  await db.schema
    .createTable('refund_intents')
    .addColumn('payment_id', 'varchar(36)', (column) => column.notNull())
    .addColumn('reference', 'text', (column) => column.notNull())
    .addColumn('content_hash', 'varchar(64)', (column) => column.notNull())
    .addColumn('payment_intent_id', 'varchar(255)', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addColumn('reason', 'varchar(32)')
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('state', 'varchar(16)', (column) => column.notNull())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('idempotency_key', 'varchar(255)', (column) => column.notNull())
    .addColumn('first_sent_at', 'varchar(24)', (column) => column.notNull())
    .addColumn('refund_id', 'varchar(255)')
    .addPrimaryKeyConstraint('refund_intents_key', ['payment_id', 'reference'])
    .execute()
}

async function createRefunds(db: AnyDb): Promise<void> {
  await db.schema
    .createTable('refunds')
    .addColumn('id', 'varchar(255)', (column) => column.primaryKey())
    .addColumn('payment_intent_id', 'varchar(255)')
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addColumn('currency', 'varchar(8)', (column) => column.notNull())
    .addColumn('status', 'varchar(24)', (column) => column.notNull())
    .addColumn('reason', 'varchar(64)')
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('created_at', 'varchar(24)', (column) => column.notNull())
    .addColumn('updated_at', 'varchar(24)', (column) => column.notNull())
    .execute()
  await index(db, 'refunds', ['payment_intent_id'])
}

async function createWebhookEvents(db: AnyDb): Promise<void> {
  await db.schema
    .createTable('webhook_events')
    .addColumn('id', 'varchar(255)', (column) => column.primaryKey())
    .addColumn('type', 'varchar(255)', (column) => column.notNull())
    .addColumn('status', 'varchar(16)', (column) => column.notNull())
    .addColumn('source', 'varchar(16)', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('payment_id', 'varchar(36)')
    .addColumn('parked_for', 'text')
    .addColumn('tries', 'integer', (column) => column.notNull())
    .addColumn('next_try_at', 'varchar(24)')
    .addColumn('error', 'text')
    .addColumn('received_at', 'varchar(24)', (column) => column.notNull())
    .addColumn('processed_at', 'varchar(24)')
    .execute()
  await index(db, 'webhook_events', ['next_try_at'])
  await index(db, 'webhook_events', ['parked_for'])
  await index(db, 'webhook_events', ['received_at'])
}

async function index(db: AnyDb, table: string, columns: string[]): Promise<void> {
  const name = [table, ...columns, 'index'].join('_')
  await db.schema.createIndex(name).on(table).columns(columns).execute()
}
