import type { Migration } from '@plinth/kit/database'
import { type Kysely, sql } from 'kysely'

/**
 * The totals of an owner contain what unfinished uploads reserve, so that every check of the quota sees it, also on
 * nodes still running the previous version. The view shows stored files only, as before.
 */
export const uploads: Migration = {
  name: 'storage-0005-uploads',
  async up(db, engine) {
    await createUploads(db)
    if (engine === 'sqlite') {
      await sql`drop view owner_usage`.execute(db)
      await sql`create view owner_usage as select owner_id,
        total - (select count(*) from uploads
          where uploads.owner_id = file_totals.owner_id and state = 'receiving') as total,
        bytes - (select coalesce(sum(length), 0) from uploads
          where uploads.owner_id = file_totals.owner_id and state = 'receiving') as bytes
        from file_totals`.execute(db)
      return
    }
    await sql`create or replace view owner_usage as
      select owner_id, cast(sum(total) as bigint) as total, cast(sum(bytes) as bigint) as bytes
      from (select owner_id, total, bytes from file_totals
        union all select owner_id, total, bytes from file_total_parts
        union all select owner_id, -1, -length from uploads where state = 'receiving') counted
      group by owner_id`.execute(db)
  },
}

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day
async function createUploads(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('uploads')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('owner_id', 'text', (column) => column.notNull())
    .addColumn('owner_name', 'text', (column) => column.notNull())
    .addColumn('filename', 'text', (column) => column.notNull())
    .addColumn('declared_type', 'text', (column) => column.notNull())
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('sha256', 'text')
    .addColumn('length', 'bigint', (column) => column.notNull())
    .addColumn('received', 'bigint', (column) => column.notNull())
    .addColumn('location_id', 'bigint', (column) =>
      column.notNull().references('storage_locations.id'),
    )
    .addColumn('object_name', 'text', (column) => column.notNull().unique())
    .addColumn('multipart_id', 'text')
    .addColumn('tail', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('file_id', 'bigint')
    .addColumn('holder', 'text')
    .addColumn('held_until_ms', 'bigint', (column) => column.notNull())
    .addColumn('fence', 'bigint', (column) => column.notNull())
    .addColumn('wanted', 'integer', (column) => column.notNull())
    .addColumn('seized', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .execute()
  await sql`create index uploads_owner on uploads (owner_id, state)`.execute(db)
  await sql`create index uploads_expires_at on uploads (state, expires_at)`.execute(db)
  await sql`create index uploads_holder on uploads (holder) where holder is not null`.execute(db)
  await db.schema
    .createTable('upload_parts')
    .addColumn('upload_id', 'text', (column) =>
      column.notNull().references('uploads.id').onDelete('cascade'),
    )
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('etag', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('upload_parts_pk', ['upload_id', 'number'])
    .execute()
}
