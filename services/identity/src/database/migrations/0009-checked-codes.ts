import type { Migration } from '@plinth/kit'
import { sql } from 'kysely'

export const checkedCodes: Migration = {
  name: 'identity-0009-checked-codes',
  async up(db) {
    await db.schema.alterTable('recovery_codes').addColumn('checked_at', 'text').execute()
    // Who has had codes since before is not asked for one now.
    await sql`update recovery_codes set checked_at = created_at`.execute(db)
  },
}
