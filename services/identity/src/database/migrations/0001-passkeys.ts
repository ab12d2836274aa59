import { idColumn, type Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

export const passkeysSchema: Migration = {
  name: 'identity-0001-passkeys',
  async up(db, engine) {
    await db.schema
      .createTable('passkey_users')
      .addColumn('user_id', 'bigint', (column) => column.primaryKey().references('users.id'))
      .addColumn('handle', 'text', (column) => column.notNull().unique())
      .execute()
    await db.schema
      .createTable('passkeys')
      .addColumn('id', ...idColumn(engine))
      .addColumn('credential_id', 'text', (column) => column.notNull().unique())
      .addColumn('user_id', 'bigint', (column) => column.notNull().references('users.id'))
      .addColumn('public_key', 'text', (column) => column.notNull())
      .addColumn('counter', 'bigint', (column) => column.notNull())
      .addColumn('backup_eligible', 'integer', (column) => column.notNull())
      .addColumn('transports', 'text', (column) => column.notNull())
      .addColumn('label', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('last_used_at', 'text', (column) => column.notNull())
      .execute()
    await sql`create index passkeys_user on passkeys (user_id)`.execute(db)
    await db.schema
      .createTable('passkey_challenges')
      .addColumn('challenge_hash', 'text', (column) => column.primaryKey())
      .addColumn('ceremony', 'text', (column) => column.notNull())
      .addColumn('user_id', 'bigint')
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .execute()
    await sql`create index passkey_challenges_expires_at on passkey_challenges (expires_at)`.execute(
      db,
    )
  },
}
