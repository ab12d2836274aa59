import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { bothEngines, sqlite } from '../../testing/databases/engines.ts'
import { type Db, openDatabase } from './open.ts'
import { prepared } from './prepared.ts'
import { inTransaction } from './transaction.ts'

type Tables = { notes: { id: number; text: string } }

const byId = prepared((db: Db<Tables>, { id }: { id: number }) =>
  db.selectFrom('notes').selectAll().where('id', '=', id),
)

const noteById = async (db: Db<Tables>, id: number) => (await byId(db, { id }))[0]

const NOTES = {
  name: 'test-0001-notes',
  up: async (db: Db<unknown>) => {
    await db.schema
      .createTable('notes')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('text', 'varchar(100)', (column) => column.notNull())
      .execute()
  },
}

async function openNotes(t: TestContext, url: string) {
  const database = await openDatabase<Tables>(url, [NOTES])
  t.after(() => database.close())
  return database.db
}

const insert = (db: Db<Tables>, id: number, text: string) =>
  db.insertInto('notes').values({ id, text }).execute()

const rename = (db: Db<Tables>, text: string) => db.updateTable('notes').set({ text }).execute()

for (const engine of bothEngines)
  describe(`a read on ${engine.name}`, engine.options, () => {
    test('finds a row by its key, or nothing', async (t) => {
      const db = await openNotes(t, await engine.freshUrl(t))
      await insert(db, 1, 'one')
      await insert(db, 2, 'two')

      assert.deepEqual(await noteById(db, 2), { id: 2, text: 'two' })
      assert.deepEqual(await noteById(db, 1), { id: 1, text: 'one' })
      assert.equal(await noteById(db, 3), undefined)
    })

    test('sees what this node or another has just committed', async (t) => {
      const url = await engine.freshUrl(t)
      const nodes = [await openNotes(t, url), await openNotes(t, url)] as const
      await insert(nodes[0], 1, 'first')

      for (let turn = 0; turn < 20; turn++) {
        await rename(nodes[turn % 2 === 0 ? 0 : 1], `turn ${turn}`)
        for (const node of nodes) assert.equal((await noteById(node, 1))?.text, `turn ${turn}`)
      }
    })

    test('sees no changes of an open transaction unless it is part of it', async (t) => {
      const db = await openNotes(t, await engine.freshUrl(t))
      await insert(db, 1, 'before')

      await inTransaction(db, async (transaction) => {
        await rename(transaction, 'after')

        assert.equal((await noteById(transaction, 1))?.text, 'after')
        assert.equal((await noteById(db, 1))?.text, 'before')
      })

      assert.equal((await noteById(db, 1))?.text, 'after')
    })

    test('never sees what a transaction rolled back', async (t) => {
      const db = await openNotes(t, await engine.freshUrl(t))

      const work = inTransaction(db, async (transaction) => {
        await insert(transaction, 1, 'gone')
        throw new Error('no')
      })

      await assert.rejects(work, /no/)
      assert.equal(await noteById(db, 1), undefined)
    })

    test('still works when another node has added a column', async (t) => {
      const db = await openNotes(t, await engine.freshUrl(t))
      await insert(db, 1, 'one')
      await noteById(db, 1)

      await sql`alter table notes add column colour varchar(10) default 'red'`.execute(db)

      assert.deepEqual(await noteById(db, 1), { id: 1, text: 'one', colour: 'red' })
      assert.equal((await inTransaction(db, (each) => noteById(each, 1)))?.text, 'one')
    })

    test('in a transaction still works when another node has added a column', async (t) => {
      const db = await openNotes(t, await engine.freshUrl(t))
      await insert(db, 1, 'one')
      await inTransaction(db, (each) => noteById(each, 1))

      await sql`alter table notes add column colour varchar(10) default 'red'`.execute(db)

      const found = await inTransaction(db, (each) => noteById(each, 1))
      assert.deepEqual(found, { id: 1, text: 'one', colour: 'red' })
    })

    test('issued together with others gets the row of its own key, even if one of them fails', async (t) => {
      const db = await openNotes(t, await engine.freshUrl(t))
      await insert(db, 1, 'one')
      await insert(db, 2, 'two')
      const asJson = prepared((notes: Db<Tables>, { id }: { id: number }) =>
        notes.selectFrom('notes').select(sql`json(text)`.as('value')).where('id', '=', id),
      )

      const asked = [noteById(db, 2), asJson(db, { id: 1 }), noteById(db, 3), noteById(db, 1)]
      const [second, malformed, missing, first] = await Promise.allSettled(asked)

      assert.deepEqual(second, { status: 'fulfilled', value: { id: 2, text: 'two' } })
      assert.equal(malformed?.status, 'rejected')
      assert.deepEqual(missing, { status: 'fulfilled', value: undefined })
      assert.deepEqual(first, { status: 'fulfilled', value: { id: 1, text: 'one' } })
    })

    test('with a key that no row can have does not fail the others', async (t) => {
      const db = await openNotes(t, await engine.freshUrl(t))
      await insert(db, 1, 'one')
      const beyond = 2 ** 40

      const asked = [noteById(db, 1), noteById(db, beyond), noteById(db, 1)]
      const [first, , third] = await Promise.allSettled(asked)

      assert.deepEqual(first, { status: 'fulfilled', value: { id: 1, text: 'one' } })
      assert.deepEqual(third, { status: 'fulfilled', value: { id: 1, text: 'one' } })
    })
  })

describe('reads on sqlite', () => {
  test('requested before the database closes are answered', async (t) => {
    const { db, close } = await openDatabase<Tables>(await sqlite.freshUrl(t), [NOTES])
    await insert(db, 1, 'one')

    const found = noteById(db, 1)
    await close()

    assert.deepEqual(await found, { id: 1, text: 'one' })
  })

  test('of an in-memory database use its only connection', async (t) => {
    const db = await openNotes(t, 'sqlite::memory:')
    await insert(db, 1, 'one')

    assert.deepEqual(await noteById(db, 1), { id: 1, text: 'one' })
  })
})
