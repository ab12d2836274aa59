import { idColumn, kitMigrations, type Migration } from '@plinth/kit/database'
import { serviceKeyMigrations } from '@plinth/service-keys'

const keyEvents: Migration = {
  name: 'storage-key-0001-key-events',
  up: async (db, engine) => {
    await db.schema
      .createTable('key_events')
      .addColumn('id', ...idColumn(engine))
      .addColumn('at', 'text', (column) => column.notNull())
      .addColumn('event', 'varchar(50)', (column) => column.notNull())
      .addColumn('actor', 'text')
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('request_id', 'text')
      .execute()
  },
}

export const keyMigrations: Migration[] = [...kitMigrations, keyEvents, ...serviceKeyMigrations]
