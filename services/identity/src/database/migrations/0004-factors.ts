import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

export const factorsSchema: Migration = {
  name: 'identity-0004-factors',
  async up(db) {
    await db.schema
      .createTable('totp_factors')
      .addColumn('user_id', 'bigint', (column) => column.primaryKey().references('users.id'))
      .addColumn('secret', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('last_step', 'bigint', (column) => column.notNull())
      .addColumn('failures', 'integer', (column) => column.notNull())
      .addColumn('locked_until', 'text')
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('confirmed_at', 'text')
      .execute()
    await sql`create index totp_factors_pending on totp_factors (created_at) where state = 'pending'`.execute(
      db,
    )
    await db.schema
      .createTable('recovery_codes')
      .addColumn('user_id', 'bigint', (column) => column.notNull().references('users.id'))
      .addColumn('code_hash', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('used_at', 'text')
      .addPrimaryKeyConstraint('recovery_codes_key', ['user_id', 'code_hash'])
      .execute()
    await db.schema
      .createTable('mfa_steps')
      .addColumn('token_hash', 'text', (column) => column.primaryKey())
      .addColumn('user_id', 'bigint', (column) => column.notNull().references('users.id'))
      .addColumn('amr', 'text', (column) => column.notNull())
      .addColumn('tries', 'integer', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .execute()
    await sql`create index mfa_steps_user on mfa_steps (user_id)`.execute(db)
    await sql`create index mfa_steps_expires_at on mfa_steps (expires_at)`.execute(db)
  },
}
