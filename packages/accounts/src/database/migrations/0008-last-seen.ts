import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** The day a user was last seen, written at most once a day; empty means never. */
export const lastSeen: Migration = {
  name: 'accounts-0008-last-seen',
  async up(db) {
    await db.schema
      .alterTable('users')
      .addColumn('last_seen_on', 'text', (column) => column.notNull().defaultTo(''))
      .execute()
    await sql`
      update users set last_seen_on = (
        select substr(max(last_used_at), 1, 10) from sessions where sessions.user_id = users.id)
      where id in (select user_id from sessions)`.execute(db)
  },
  indexes: (engine) => {
    // Every SQLite index ends with the row id.
    const id = engine === 'sqlite' ? '' : ', id'
    return {
      users_second_factor: `users (second_factor${id})`,
      users_last_seen: `users (last_seen_on${id})`,
    }
  },
}
