import type { Migration } from '@plinth/kit/database'

/** The browser's session that a client's session was begun in, even if it may outlast that one. */
export const begunSessions: Migration = {
  name: 'accounts-0012-begun-sessions',
  async up(db) {
    await db.schema.alterTable('sessions').addColumn('begun_in', 'bigint').execute()
  },
}
