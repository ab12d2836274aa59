import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Nodes still running the previous version keep counting in `file_totals`; nothing is counted twice. */
export const totalsInParts: Migration = {
  name: 'storage-0003-totals-in-parts',
  async up(db, engine) {
    if (engine === 'sqlite') {
      await sql`create view owner_usage as select owner_id, total, bytes from file_totals`.execute(
        db,
      )
      return
    }
    // Half of each page stays free, so that updates of a hot row fit on the same page (HOT updates).
    await sql`create table file_total_parts (
      owner_id text not null, part integer not null, total bigint not null, bytes bigint not null,
      primary key (owner_id, part)) with (fillfactor = 50)`.execute(db)
    await sql`create view owner_usage as
      select owner_id, cast(sum(total) as bigint) as total, cast(sum(bytes) as bigint) as bytes
      from (select owner_id, total, bytes from file_totals
        union all select owner_id, total, bytes from file_total_parts) counted
      group by owner_id`.execute(db)
  },
}
