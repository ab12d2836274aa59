import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Nodes still running the previous version insert files without a CRC-32; it is added when they are first archived. */
export const zip: Migration = {
  name: 'storage-0009-zip',
  async up(db) {
    await sql`alter table files add column crc32 bigint`.execute(db)
    await db.schema
      .createTable('zip_tokens')
      .addColumn('token_hash', 'text', (column) => column.primaryKey())
      .addColumn('maker_id', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('file_ids', 'text', (column) => column.notNull())
      .addColumn('folder_ids', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .execute()
    await sql`create index zip_tokens_maker on zip_tokens (maker_id, expires_at)`.execute(db)
    await sql`create index zip_tokens_expires on zip_tokens (expires_at)`.execute(db)
  },
}
