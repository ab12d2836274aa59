import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Finds an erased user's audit events without scanning the whole table. */
export const auditActorsMigration: Migration = {
  name: 'payments-0006-audit-actors',
  up: async (db) => {
    await sql`create index audit_events_actor on audit_events (actor) where actor is not null`.execute(
      db,
    )
  },
}
