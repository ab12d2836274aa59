import type { Migration } from './migrate.ts'

/** The kit's own tables; every service with a database lists these first. */
export const kitMigrations: Migration[] = [
  {
    name: 'kit-0001-leases',
    up: async (db) => {
      await db.schema
        .createTable('leases')
        .addColumn('name', 'varchar(200)', (column) => column.primaryKey())
        .addColumn('holder', 'varchar(64)', (column) => column.notNull())
        .addColumn('until_ms', 'bigint', (column) => column.notNull())
        .execute()
    },
  },
]
