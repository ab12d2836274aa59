import type { Migration } from '@plinth/kit/database'

/** Which users have a second factor, and how and when the user of a session authenticated. */
export const authenticationSchema: Migration = {
  name: 'accounts-0006-authentication',
  async up(db) {
    await db.schema
      .alterTable('users')
      .addColumn('second_factor', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.schema.alterTable('sessions').addColumn('amr', 'text').execute()
    await db.schema.alterTable('sessions').addColumn('authenticated_at', 'text').execute()
  },
}
