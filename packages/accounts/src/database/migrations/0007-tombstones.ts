import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** What remains of an erased account: its id and, for a while, keyed hashes of its names. */
export const tombstones: Migration = {
  name: 'accounts-0007-tombstones',
  async up(db) {
    await db.schema
      .createTable('tombstones')
      .addColumn('user_id', 'bigint', (column) => column.primaryKey())
      .addColumn('deleted_at', 'text', (column) => column.notNull())
      .addColumn('username_hash', 'text')
      .addColumn('email_hash', 'text')
      .addColumn('held_until', 'text')
      .execute()
    const held = (column: string) => sql`
      create index ${sql.ref(`tombstones_${column}`)} on tombstones (${sql.ref(column)})
      where held_until is not null`
    for (const column of ['username_hash', 'email_hash', 'held_until'])
      await held(column).execute(db)
    await sql`create index tombstones_deleted_at on tombstones (deleted_at, user_id)`.execute(db)
  },
}
