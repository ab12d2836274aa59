import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { bothEngines, type TestEngine } from '../../testing/databases/engines.ts'
import { forUpdate, isUniqueViolation } from './engine.ts'
import type { Migration } from './migrate.ts'
import { type Db, openDatabase } from './open.ts'
import { prepared } from './prepared.ts'
import { inTransaction } from './transaction.ts'

type Note = { text: string; copies: number; author: string | null }
type NoteTables = { notes: Note }

const NOTES: Migration = {
  name: 'test-0001-notes',
  up: async (db) => {
    await db.schema
      .createTable('notes')
      .addColumn('text', 'varchar(100)', (column) => column.primaryKey())
      .addColumn('copies', 'bigint', (column) => column.notNull())
      .addColumn('author', 'varchar(100)')
      .execute()
  },
}

async function openNotes(t: TestContext, engine: TestEngine): Promise<Db<NoteTables>> {
  const database = await openDatabase<NoteTables>(await engine.freshUrl(t), [NOTES])
  t.after(() => database.close())
  return database.db
}

for (const engine of bothEngines)
  describe(`a prepared statement on ${engine.name}`, engine.options, () => {
    test('is built once and uses the values of each run', async (t) => {
      let built = 0
      const add = prepared((db: Db<NoteTables>, note: Note) => {
        built += 1
        return db.insertInto('notes').values(note).returning('copies')
      })
      const db = await openNotes(t, engine)

      const first = await add(db, { text: 'a', copies: 1, author: null })
      const second = await add(db, { text: 'b', copies: 2, author: 'Ada' })

      assert.deepEqual([first, second], [[{ copies: 1 }], [{ copies: 2 }]])
      assert.equal(built, 1)
      assert.deepEqual(await db.selectFrom('notes').selectAll().orderBy('text').execute(), [
        { text: 'a', copies: 1, author: null },
        { text: 'b', copies: 2, author: 'Ada' },
      ])
    })

    test('keeps constants from its builder, and can lock rows', async (t) => {
      const raise = prepared((db: Db<NoteTables>, { text, copies }: Omit<Note, 'author'>) =>
        db
          .updateTable('notes')
          .set({ author: 'Bob', copies })
          .where('text', '=', text)
          .returning('text'),
      )
      const find = prepared((db: Db<NoteTables>, { text }: { text: string }) =>
        forUpdate(db, db.selectFrom('notes').selectAll().where('text', '=', text)),
      )
      const db = await openNotes(t, engine)
      await db
        .insertInto('notes')
        .values({ text: 'a', copies: 1 } as Note)
        .execute()

      const found = await inTransaction(db, async (transaction) => {
        assert.deepEqual(await raise(transaction, { text: 'a', copies: 7 }), [{ text: 'a' }])
        assert.deepEqual(await raise(transaction, { text: 'b', copies: 7 }), [])
        return find(transaction, { text: 'a' })
      })

      assert.deepEqual(found, [{ text: 'a', copies: 7, author: 'Bob' }])
    })

    test('is rolled back with its transaction, which throws its error', async (t) => {
      const add = prepared((db: Db<NoteTables>, row: Note) => db.insertInto('notes').values(row))
      const note = { text: 'once', copies: 1, author: null }
      const db = await openNotes(t, engine)

      const twice = inTransaction(db, async (transaction) => {
        await add(transaction, note)
        await add(transaction, note)
      })

      await assert.rejects(twice, (error) => isUniqueViolation(error))
      assert.deepEqual(await db.selectFrom('notes').selectAll().execute(), [])
    })

    test('is rejected in a transaction that has ended', async (t) => {
      const add = prepared((db: Db<NoteTables>, note: Note) => db.insertInto('notes').values(note))
      const db = await openNotes(t, engine)
      const ended = await inTransaction(db, async (transaction) => ({ transaction }))

      const late = add(ended.transaction, { text: 'late', copies: 1, author: null })

      await assert.rejects(late, /committed/)
    })
  })
