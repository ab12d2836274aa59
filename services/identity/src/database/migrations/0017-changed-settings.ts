import type { Migration } from '@plinth/kit/database'

export const changedSettings: Migration = {
  name: 'identity-0017-changed-settings',
  async up(db) {
    await db.schema
      .createTable('changed_settings')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('value', 'text', (column) => column.notNull())
      .addColumn('changed_at', 'text', (column) => column.notNull())
      .execute()
  },
}
