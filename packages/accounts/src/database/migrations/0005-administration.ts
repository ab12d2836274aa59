import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Indexes for what administrators search by, and the reason of each change they make. */
export const administration: Migration = {
  name: 'accounts-0005-administration',
  async up(db, engine) {
    const flag = (name: string) =>
      db.schema
        .alterTable('users')
        .addColumn(name, 'integer', (column) => column.notNull().defaultTo(0))
        .execute()
    await flag('verified')
    await flag('password_expired')
    await db.schema.alterTable('users').addColumn('deletes_at', 'text').execute()
    await db.schema.alterTable('users').addColumn('deletion', 'text').execute()
    await db.schema.alterTable('audit_events').addColumn('reason', 'text').execute()
    await sql`create index users_deletes_at on users (deletes_at) where deletes_at is not null`.execute(
      db,
    )
    if (engine === 'sqlite') {
      // Every SQLite index ends with the row id, and SQLite compares text byte by byte.
      await sql`create index users_verified on users (verified)`.execute(db)
    } else {
      await sql`create index users_verified on users (verified, id)`.execute(db)
      // Under a language's collation, no single index range holds the names with a given prefix.
      await sql`create index users_username_bytes on users (username collate "C")`.execute(db)
      await sql`create index users_email_bytes on users (email collate "C")`.execute(db)
    }
    await sql`create index audit_events_subject on audit_events (subject, id)`.execute(db)
    // Most users change their own account: the index holds only what was done to others.
    await sql`create index audit_events_actor on audit_events (actor, id) where actor <> subject`.execute(
      db,
    )
    await sql`create index audit_events_event on audit_events (event, id)`.execute(db)
  },
}
