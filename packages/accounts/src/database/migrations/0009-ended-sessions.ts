import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** A small index: ended sessions are counted without reading the table, and rotation does not update it. */
export const endedSessions: Migration = {
  name: 'accounts-0009-ended-sessions',
  async up(db) {
    await sql`create index sessions_ended on sessions (expires_at, state)
      where state <> 'active'`.execute(db)
  },
}
