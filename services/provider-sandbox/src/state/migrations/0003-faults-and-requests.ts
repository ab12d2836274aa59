import { idColumn, type Migration } from '@plinth/kit'

export const faultsAndRequests: Migration = {
  name: 'sandbox-0003-faults-and-requests',
  up: async (db, engine) => {
    const id = idColumn(engine)
    await db.schema
      .createTable('faults')
      .addColumn('id', ...id)
      .addColumn('route', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('remaining', 'integer')
      .addColumn('probability', 'real', (column) => column.notNull())
      .addColumn('detail', 'text', (column) => column.notNull())
      .execute()

    await db.schema
      .createTable('requests')
      .addColumn('seq', ...id)
      .addColumn('id', 'text', (column) => column.notNull())
      .addColumn('at', 'text', (column) => column.notNull())
      .addColumn('method', 'text', (column) => column.notNull())
      .addColumn('path', 'text', (column) => column.notNull())
      .addColumn('idempotency_key', 'text')
      .addColumn('status', 'integer', (column) => column.notNull())
      .addColumn('replayed', 'integer', (column) => column.notNull())
      .addColumn('fault', 'text')
      .execute()
  },
}
