import { idColumn, type Migration } from '@plinth/kit/database'

export const auditMigration: Migration = {
  name: 'payments-0005-audit',
  up: async (db, engine) => {
    await db.schema
      .createTable('audit_events')
      .addColumn('id', ...idColumn(engine))
      .addColumn('at', 'text', (column) => column.notNull())
      .addColumn('event', 'varchar(50)', (column) => column.notNull())
      .addColumn('actor', 'text')
      .addColumn('subject', 'text')
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('request_id', 'text')
      .execute()
  },
}
