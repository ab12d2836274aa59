import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/**
 * Until now ids came from a counter and had no gaps. They come from the database again, so its
 * sequence must start after the highest id in use.
 */
export const countedUsers: Migration = {
  name: 'accounts-0003-counted-users',
  async up(db, engine) {
    await db.schema.dropTable('user_total').execute()
    if (engine === 'sqlite') {
      // Paging by id skips through this index; the table itself is thirty times as large.
      await sql`create index users_id on users (id)`.execute(db)
      // Every SQLite index ends with the row id. Without a second copy of it, this index is the
      // smallest, and count(*) scans the smallest.
      await sql`drop index users_enabled`.execute(db)
      await sql`create index users_enabled on users (enabled)`.execute(db)
    } else {
      await sql`
        select setval(pg_get_serial_sequence('users', 'id'), coalesce(max(id), 0) + 1, false)
        from users`.execute(db)
    }
  },
}
