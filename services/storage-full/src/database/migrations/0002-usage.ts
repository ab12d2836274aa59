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
    // Reads the files once, in their own order: writes of other nodes wait meanwhile.
    await sql`update file_totals set bytes = stored.bytes
      from (select owner_id, sum(size_bytes) as bytes from files where state = 'stored' group by owner_id) as stored
      where stored.owner_id = file_totals.owner_id`.execute(db)
  },
}
