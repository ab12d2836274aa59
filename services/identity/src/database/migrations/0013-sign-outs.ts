import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Requests of clients to sign a user out, which await the user. */
export const signOuts: Migration = {
  name: 'identity-0013-sign-outs',
  async up(db) {
    await db.schema
      .createTable('sign_outs')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('browser_hash', 'text', (column) => column.notNull())
      .addColumn('redirect_to', 'text')
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .execute()
    await sql`create index sign_outs_expires_at on sign_outs (expires_at)`.execute(db)
  },
}
