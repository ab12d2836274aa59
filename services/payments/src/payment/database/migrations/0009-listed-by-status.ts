import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Operators list the payments of one status, newest first. */
export const listedByStatusMigration: Migration = {
  name: 'payments-0009-listed-by-status',
  up: async (db) => {
    await sql`create index payments_status_created_at on payments (status, created_at)`.execute(db)
  },
}
