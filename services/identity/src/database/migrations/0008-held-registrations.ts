import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Registrations whose address is not confirmed yet. */
export const heldRegistrations: Migration = {
  name: 'identity-0008-held-registrations',
  async up(db) {
    await db.schema
      .createTable('held_registrations')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('username', 'text', (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('password_hash', 'text', (column) => column.notNull())
      .addColumn('token_hash', 'text', (column) => column.unique())
      .addColumn('code_hash', 'text', (column) => column.notNull())
      .addColumn('failures', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .addColumn('used_at', 'text')
      .execute()
    await sql`create index held_registrations_address on held_registrations (address)`.execute(db)
    await sql`create index held_registrations_expires_at on held_registrations (expires_at)`.execute(
      db,
    )
  },
}
