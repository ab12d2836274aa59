import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

export const checkedCodes: Migration = {
  name: 'identity-0009-checked-codes',
  async up(db) {
    await db.schema.alterTable('recovery_codes').addColumn('checked_at', 'text').execute()
    // Users who already have codes are not asked to type one back.
    await sql`update recovery_codes set checked_at = created_at`.execute(db)
  },
}
