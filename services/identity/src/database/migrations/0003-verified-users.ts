import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Moves the verified flag into the user's row, where administrators can search by it. */
export const verifiedUsers: Migration = {
  name: 'identity-0003-verified-users',
  async up(db) {
    await sql`
      update users set verified = 1
      where email = (select address from verified_addresses where user_id = users.id)`.execute(db)
    await db.schema.dropTable('verified_addresses').execute()
  },
}
