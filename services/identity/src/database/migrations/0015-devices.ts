import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Devices without a browser that await their user (RFC 8628). */
export const deviceRequests: Migration = {
  name: 'identity-0015-devices',
  async up(db) {
    await db.schema
      .createTable('device_requests')
      .addColumn('device_hash', 'text', (column) => column.primaryKey())
      .addColumn('user_code', 'text', (column) => column.notNull().unique())
      .addColumn('client_id', 'text', (column) => column.notNull())
      .addColumn('scope', 'text', (column) => column.notNull())
      .addColumn('resources', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('session_id', 'bigint')
      .addColumn('interval_seconds', 'integer', (column) => column.notNull())
      .addColumn('polled_at', 'text')
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('user_agent', 'text')
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .execute()
    await sql`create index device_requests_expires_at on device_requests (expires_at)`.execute(db)
  },
}
