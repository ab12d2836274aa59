import { idColumn, type Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Nodes still running the previous version know neither table; a deleted file takes its rows along. */
export const pictureRenditions: Migration = {
  name: 'storage-0006-picture-renditions',
  async up(db, engine) {
    await db.schema
      .createTable('pictures')
      .addColumn('object_name', 'text', (column) => column.primaryKey())
      .addColumn('file_id', 'bigint', (column) =>
        column.notNull().references('files.id').onDelete('cascade'),
      )
      .addColumn('width', 'integer')
      .addColumn('height', 'integer')
      .addColumn('frames', 'integer')
      .addColumn('transparent', 'integer')
      .execute()
    await sql`create index pictures_file on pictures (file_id)`.execute(db)
    await db.schema
      .createTable('renditions')
      .addColumn('id', ...idColumn(engine))
      .addColumn('object_name', 'text', (column) =>
        column.notNull().references('pictures.object_name').onDelete('cascade'),
      )
      .addColumn('parameters', 'text', (column) => column.notNull())
      .addColumn('location_id', 'bigint', (column) =>
        column.notNull().references('storage_locations.id'),
      )
      .addColumn('name', 'text', (column) => column.notNull().unique())
      .addColumn('size_bytes', 'bigint', (column) => column.notNull())
      .addColumn('checksum_sha256', 'text', (column) => column.notNull())
      .addColumn('used_at', 'text', (column) => column.notNull())
      .addUniqueConstraint('renditions_parameters', ['object_name', 'parameters'])
      .execute()
    // Also answers the sum of all sizes, without reading a row.
    await sql`create index renditions_used on renditions (used_at, size_bytes)`.execute(db)
  },
}
