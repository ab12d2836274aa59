import { idColumn, type Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/**
 * Nodes still running the previous version store first versions, which the defaults describe. The totals of an owner
 * contain the kept versions of stored files, so that every check of the quota sees them; the view shows the
 * content of stored files only, as before.
 */
export const versions: Migration = {
  name: 'storage-0008-versions',
  async up(db, engine) {
    await sql`alter table files add column version bigint not null default 1`.execute(db)
    await sql`alter table files add column replaced_at text`.execute(db)
    await db.schema
      .createTable('file_versions')
      .addColumn('id', ...idColumn(engine))
      .addColumn('file_id', 'bigint', (column) =>
        column.notNull().references('files.id').onDelete('cascade'),
      )
      .addColumn('owner_id', 'text', (column) => column.notNull())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('size_bytes', 'bigint', (column) => column.notNull())
      .addColumn('checksum_sha256', 'text', (column) => column.notNull())
      .addColumn('location_id', 'bigint', (column) =>
        column.notNull().references('storage_locations.id'),
      )
      .addColumn('object_name', 'text', (column) => column.notNull().unique())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addUniqueConstraint('file_versions_number', ['file_id', 'version'])
      .execute()
    await sql`create index file_versions_owner on file_versions (owner_id, state)`.execute(db)
    await sql`create index file_versions_state on file_versions (state, id)`.execute(db)
    await sql`create index file_versions_location on file_versions (location_id, id)`.execute(db)

    await sql`alter table uploads add column replaces bigint`.execute(db)
    await sql`alter table uploads add column if_match text`.execute(db)
    await sql`alter table uploads add column quota_owner_id text`.execute(db)
    await sql`create index uploads_quota_owner
      on uploads (coalesce(quota_owner_id, owner_id), state)`.execute(db)
    await sql`alter table file_moves add column version_cursor_id bigint not null default 0`.execute(
      db,
    )
    await sql`create index restorable_files_deleted on restorable_files (deleted_at)`.execute(db)
    if (engine === 'sqlite') await sql`drop view owner_usage`.execute(db)
    await (engine === 'sqlite' ? USAGE_ON_SQLITE : USAGE_ON_POSTGRES).execute(db)
  },
}

const USAGE_ON_SQLITE = sql`create view owner_usage as select owner_id,
  total - (select count(*) from uploads
    where coalesce(quota_owner_id, uploads.owner_id) = file_totals.owner_id
      and state = 'receiving' and replaces is null) as total,
  bytes - (select coalesce(sum(length), 0) from uploads
    where coalesce(quota_owner_id, uploads.owner_id) = file_totals.owner_id
      and state = 'receiving')
  - (select coalesce(sum(kept.size_bytes), 0) from file_versions kept
    join files on files.id = kept.file_id
    where kept.owner_id = file_totals.owner_id and kept.state = 'kept'
      and files.state = 'stored') as bytes
  from file_totals`

const USAGE_ON_POSTGRES = sql`create or replace view owner_usage as
  select owner_id, cast(sum(total) as bigint) as total, cast(sum(bytes) as bigint) as bytes
  from (select owner_id, total, bytes from file_totals
    union all select owner_id, total, bytes from file_total_parts
    union all select coalesce(quota_owner_id, owner_id),
      case when replaces is null then -1 else 0 end, -length from uploads
      where state = 'receiving'
    union all select kept.owner_id, 0, -kept.size_bytes from file_versions kept
      join files on files.id = kept.file_id
      where kept.state = 'kept' and files.state = 'stored') counted
  group by owner_id`
