import type { Migration } from '@plinth/kit/database'

export const changedLimits: Migration = {
  name: 'storage-0010-changed-limits',
  async up(db) {
    await db.schema
      .createTable('changed_limits')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('value', 'bigint', (column) => column.notNull())
      .addColumn('changed_at', 'text', (column) => column.notNull())
      .execute()
  },
}
