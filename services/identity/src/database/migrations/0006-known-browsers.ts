import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** The browsers each user has signed in with, and the last sign-in that was checked. */
export const knownBrowsers: Migration = {
  name: 'identity-0006-known-browsers',
  async up(db) {
    await db.schema
      .createTable('known_browsers')
      .addColumn('browser_hash', 'text', (column) => column.primaryKey())
      .addColumn('user_id', 'bigint', (column) => column.notNull().references('users.id'))
      .addColumn('seen_at', 'text', (column) => column.notNull())
      .execute()
    await sql`create index known_browsers_user on known_browsers (user_id)`.execute(db)
    await sql`create index known_browsers_seen_at on known_browsers (seen_at)`.execute(db)
    await db.schema
      .createTable('watched_sign_ins')
      .addColumn('session_id', 'bigint', (column) => column.notNull())
      .execute()
    await sql`insert into watched_sign_ins (session_id) select coalesce(max(id), 0) from sessions`.execute(
      db,
    )
  },
}
