import type { Migration } from '@plinth/kit/database'

/** Indexes for what administrators search by, and the reason of each change they make. */
export const administration: Migration = {
  name: 'accounts-0005-administration',
  async up(db) {
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
  },
  indexes: (engine): Record<string, string> => ({
    users_deletes_at: 'users (deletes_at) where deletes_at is not null',
    // Every SQLite index ends with the row id, and SQLite compares text byte by byte.
    users_verified: engine === 'sqlite' ? 'users (verified)' : 'users (verified, id)',
    // Under a language's collation, no single index range holds the names with a given prefix.
    ...(engine === 'postgres' && {
      users_username_bytes: 'users (username collate "C")',
      users_email_bytes: 'users (email collate "C")',
    }),
    audit_events_subject: 'audit_events (subject, id)',
    // Most users change their own account: the index holds only what was done to others.
    audit_events_actor: 'audit_events (actor, id) where actor <> subject',
    audit_events_event: 'audit_events (event, id)',
  }),
}
