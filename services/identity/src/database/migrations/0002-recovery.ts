import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

export const recoverySchema: Migration = {
  name: 'identity-0002-recovery',
  async up(db) {
    await db.schema
      .createTable('mail_outbox')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('user_id', 'bigint', (column) => column.references('users.id'))
      .addColumn('language', 'text', (column) => column.notNull())
      .addColumn('details', 'text')
      .addColumn('prepared', 'integer', (column) => column.notNull())
      .addColumn('origin_address', 'text', (column) => column.notNull())
      .addColumn('user_agent', 'text')
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('next_attempt_at', 'text')
      .addColumn('lease_until', 'text')
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .addColumn('sent_at', 'text')
      .addColumn('last_reply', 'text')
      .execute()
    await sql`create index mail_outbox_due on mail_outbox (next_attempt_at) where state = 'queued'`.execute(
      db,
    )
    await sql`create index mail_outbox_created_at on mail_outbox (created_at, id)`.execute(db)
    await sql`create index mail_outbox_address on mail_outbox (address, created_at)`.execute(db)
    await db.schema
      .createTable('one_time_tokens')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('user_id', 'bigint', (column) => column.notNull().references('users.id'))
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('token_hash', 'text', (column) => column.notNull().unique())
      .addColumn('code_hash', 'text', (column) => column.notNull())
      .addColumn('failures', 'integer', (column) => column.notNull())
      .addColumn('details', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .addColumn('used_at', 'text')
      .execute()
    await sql`create unique index one_time_tokens_unused on one_time_tokens (user_id, kind) where used_at is null`.execute(
      db,
    )
    await sql`create index one_time_tokens_address on one_time_tokens (address, kind)`.execute(db)
    await sql`create index one_time_tokens_expires_at on one_time_tokens (expires_at)`.execute(db)
    await db.schema
      .createTable('verified_addresses')
      .addColumn('user_id', 'bigint', (column) => column.primaryKey().references('users.id'))
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('verified_at', 'text', (column) => column.notNull())
      .execute()
  },
}
