import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Nodes still running the previous version treat a restorable file as deleted. */
export const restorableFiles: Migration = {
  name: 'storage-0004-restorable-files',
  async up(db) {
    await db.schema
      .createTable('restorable_files')
      .addColumn('file_id', 'bigint', (column) =>
        column.primaryKey().references('files.id').onDelete('cascade'),
      )
      .addColumn('deleted_by', 'text', (column) => column.notNull())
      .addColumn('deleted_at', 'text', (column) => column.notNull())
      .addColumn('restorable_until', 'text', (column) => column.notNull())
      .execute()
    await sql`create index restorable_files_until on restorable_files (restorable_until)`.execute(
      db,
    )
  },
}
