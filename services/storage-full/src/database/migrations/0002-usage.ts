import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** The default is for nodes still running the previous version. */
export const usageInBytes: Migration = {
  name: 'storage-0002-usage-in-bytes',
  async up(db) {
    await db.schema
      .alterTable('file_totals')
      .addColumn('bytes', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    await sql`update file_totals set bytes = (
      select coalesce(sum(size_bytes), 0) from files
      where files.owner_id = file_totals.owner_id and state = 'stored'
    )`.execute(db)
  },
}
