import type { Migration } from '@plinth/kit'
import { sql } from 'kysely'

/** Few at a time: they are counted without reading the sessions, and rotation does not touch it. */
export const endedSessions: Migration = {
  name: 'accounts-0009-ended-sessions',
  async up(db) {
    await sql`create index sessions_ended on sessions (expires_at, state)
      where state <> 'active'`.execute(db)
  },
}
