import type { TestContext } from 'node:test'
import { idColumn } from '../../src/database/engine.ts'
import type { Migration } from '../../src/database/migrate.ts'
import { type Database, openDatabase } from '../../src/database/open.ts'

/** A small table for tests of the database itself. */
export type NoteTables = { notes: { id?: number; text: string; copies: number } }

export const NOTES: Migration = {
  name: 'test-0001-notes',
  up: async (db, engine) => {
    await db.schema
      .createTable('notes')
      .addColumn('id', ...idColumn(engine))
      .addColumn('text', 'varchar(100)', (column) => column.notNull().unique())
      .addColumn('copies', 'bigint', (column) => column.notNull())
      .execute()
  },
}

export async function openNotes(
  t: TestContext,
  url: string,
  migrations = [NOTES],
  version?: string,
): Promise<Database<NoteTables>> {
  const database = await openDatabase<NoteTables>(url, migrations, { version })
  t.after(() => database.close())
  return database
}

export const addNote = ({ db }: Database<NoteTables>, text: string) =>
  db.insertInto('notes').values({ text, copies: 1 }).returning('id').executeTakeFirstOrThrow()
