import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Sessions of clients that act for a user, and of browsers that are signed in to the hosted page. */
export const clientSessions: Migration = {
  name: 'accounts-0011-client-sessions',
  async up(db) {
    for (const name of ['client_id', 'scope', 'resources', 'browser_hash'])
      await db.schema.alterTable('sessions').addColumn(name, 'text').execute()
    await db.schema.alterTable('sessions').addColumn('parent_id', 'bigint').execute()
    await db.schema
      .alterTable('sessions')
      .addColumn('remembered', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await sql`create unique index sessions_browser on sessions (browser_hash)
      where browser_hash is not null`.execute(db)
  },
  indexes: () => ({
    sessions_parent: 'sessions (parent_id) where parent_id is not null',
    sessions_client: 'sessions (client_id) where client_id is not null',
  }),
}
