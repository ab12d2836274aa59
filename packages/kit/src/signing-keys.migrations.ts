import type { Migration } from './database/migrate.ts'

export const signingKeyMigrations: Migration[] = [
  {
    name: 'signing-keys-0001-keys',
    async up(db) {
      await db.schema
        .createTable('signing_keys')
        .addColumn('generation', 'integer', (column) => column.primaryKey())
        .addColumn('kid', 'text', (column) => column.notNull().unique())
        .addColumn('sealed_private_key', 'text', (column) => column.notNull())
        .addColumn('signs_from', 'text', (column) => column.notNull())
        .execute()
    },
  },
]
