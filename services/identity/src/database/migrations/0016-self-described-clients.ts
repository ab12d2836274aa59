import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Clients that no administrator has registered: by a document at an address of theirs, or by themselves. And keys of hints. */
export const selfDescribedClients: Migration = {
  name: 'identity-0016-self-described-clients',
  async up(db) {
    await db.schema
      .alterTable('clients')
      .addColumn('self_registered', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .createTable('client_documents')
      .addColumn('client_id', 'text', (column) => column.primaryKey())
      .addColumn('client', 'text', (column) => column.notNull())
      .addColumn('fetched_at', 'text', (column) => column.notNull())
      .execute()
    await sql`create index client_documents_fetched_at on client_documents (fetched_at)`.execute(db)
    await db.schema
      .createTable('hint_keys')
      .addColumn('kid', 'text', (column) => column.primaryKey())
      .addColumn('public_key', 'text', (column) => column.notNull())
      .addColumn('used_at', 'text', (column) => column.notNull())
      .execute()
  },
}
