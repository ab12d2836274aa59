import type { Migration } from '@plinth/kit/database'

/** A replay of the most recently rotated token may be a lost reply or a second tab, not theft. */
export const previousTokens: Migration = {
  name: 'accounts-0004-previous-tokens',
  async up(db) {
    await db.schema.alterTable('sessions').addColumn('previous_hash', 'text').execute()
  },
}
