import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Replaced tokens stay for a while, so that their links can say that a newer one exists. */
export const replacedTokens: Migration = {
  name: 'identity-0007-replaced-tokens',
  async up(db) {
    await db.schema.alterTable('one_time_tokens').addColumn('replaced_at', 'text').execute()
    await sql`drop index one_time_tokens_unused`.execute(db)
    await sql`create unique index one_time_tokens_unused on one_time_tokens (user_id, kind) where used_at is null and replaced_at is null`.execute(
      db,
    )
  },
}
