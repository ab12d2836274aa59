import type { Migration } from '@plinth/kit'
import { sql } from 'kysely'

/** What an erased user did is found without reading the whole audit. */
export const auditActorsMigration: Migration = {
  name: 'payments-0006-audit-actors',
  up: async (db) => {
    await sql`create index audit_events_actor on audit_events (actor) where actor is not null`.execute(
      db,
    )
  },
}
