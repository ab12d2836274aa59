import type { Migration } from '@plinth/kit/database'

export const factorRemoval: Migration = {
  name: 'identity-0005-factor-removal',
  async up(db) {
    await db.schema.alterTable('totp_factors').addColumn('removes_at', 'text').execute()
  },
  indexes: () => ({
    totp_factors_removes_at: 'totp_factors (removes_at) where removes_at is not null',
  }),
}
