import { idColumn, type Migration } from '@plinth/kit/database'
import { type Kysely, sql } from 'kysely'

export const storageSchema: Migration = {
  name: 'storage-0001-files-links-locations-moves',
  async up(db, engine) {
    await createLocations(db, idColumn(engine))
    await createFiles(db, idColumn(engine))
    await createLinks(db, idColumn(engine))
    await createMoves(db, idColumn(engine))
  },
}

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day
type Schema = Kysely<any>

type IdColumn = ReturnType<typeof idColumn>

async function createLocations(db: Schema, id: IdColumn): Promise<void> {
  await db.schema
    .createTable('storage_locations')
    .addColumn('id', ...id)
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('sealed_settings', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addUniqueConstraint('storage_locations_place', ['provider', 'place'])
    .execute()
  await db.schema
    .createTable('storage_settings')
    .addColumn('provider', 'text', (column) => column.primaryKey())
    .addColumn('sealed_settings', 'text', (column) => column.notNull())
    .addColumn('saved_at', 'text', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('active_storage')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('location_id', 'bigint', (column) =>
      column.notNull().references('storage_locations.id'),
    )
    .addColumn('activated_at', 'text', (column) => column.notNull())
    .execute()
}

async function createFiles(db: Schema, id: IdColumn): Promise<void> {
  await db.schema
    .createTable('files')
    .addColumn('id', ...id)
    .addColumn('owner_id', 'text', (column) => column.notNull())
    .addColumn('owner_name', 'text', (column) => column.notNull())
    .addColumn('original_filename', 'text', (column) => column.notNull())
    .addColumn('stored_filename', 'text', (column) => column.notNull().unique())
    .addColumn('extension', 'text', (column) => column.notNull())
    .addColumn('content_type', 'text', (column) => column.notNull())
    .addColumn('size_bytes', 'bigint', (column) => column.notNull())
    .addColumn('checksum_sha256', 'text', (column) => column.notNull())
    .addColumn('location_id', 'bigint', (column) =>
      column.notNull().references('storage_locations.id'),
    )
    .addColumn('object_name', 'text', (column) => column.notNull().unique())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('thumbnail', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute()
  await sql`create index files_owner on files (owner_id, state, id)`.execute(db)
  await sql`create index files_state on files (state, id)`.execute(db)
  await sql`create index files_location on files (location_id, id)`.execute(db)
  await db.schema
    .createTable('file_totals')
    .addColumn('owner_id', 'text', (column) => column.primaryKey())
    .addColumn('total', 'bigint', (column) => column.notNull())
    .execute()
}

async function createLinks(db: Schema, id: IdColumn): Promise<void> {
  await db.schema
    .createTable('temporary_links')
    .addColumn('id', ...id)
    .addColumn('file_id', 'bigint', (column) =>
      column.notNull().references('files.id').onDelete('cascade'),
    )
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .addColumn('opened_count', 'bigint', (column) => column.notNull())
    .addColumn('last_opened_at', 'text')
    .execute()
  await sql`create index temporary_links_file on temporary_links (file_id, id)`.execute(db)
  await sql`create index temporary_links_expires_at on temporary_links (expires_at)`.execute(db)
}

async function createMoves(db: Schema, id: IdColumn): Promise<void> {
  await db.schema
    .createTable('orphans')
    .addColumn('location_id', 'bigint', (column) =>
      column.notNull().references('storage_locations.id'),
    )
    .addColumn('object_key', 'text', (column) => column.notNull())
    .addColumn('first_seen_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('orphans_pk', ['location_id', 'object_key'])
    .execute()
  await db.schema
    .createTable('file_moves')
    .addColumn('id', ...id)
    .addColumn('target_location_id', 'bigint', (column) =>
      column.notNull().references('storage_locations.id'),
    )
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('total', 'bigint', (column) => column.notNull())
    .addColumn('moved', 'bigint', (column) => column.notNull())
    .addColumn('failed', 'bigint', (column) => column.notNull())
    .addColumn('moved_bytes', 'bigint', (column) => column.notNull())
    .addColumn('cursor_id', 'bigint', (column) => column.notNull())
    .addColumn('last_error', 'text')
    .addColumn('requested_by', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .execute()
  // Two concurrent moves would move the same files back and forth.
  await sql`create unique index file_moves_running on file_moves (state) where state = 'RUNNING'`.execute(
    db,
  )
}
