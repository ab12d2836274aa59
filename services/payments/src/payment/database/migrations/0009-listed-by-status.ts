import type { Migration } from '@plinth/kit/database'

/** Operators list the payments of one status, newest first. */
export const listedByStatusMigration: Migration = {
  name: 'payments-0009-listed-by-status',
  up: async () => {},
  indexes: () => ({ payments_status_created_at: 'payments (status, created_at)' }),
}
