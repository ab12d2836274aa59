import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type Migration, openDatabase } from '@plinth/kit/database'
import { engines, postgres, sqlite, type TestEngine } from '@plinth/kit/testing'
import { mark } from './databases/fill.ts'
import { checkMove, moveDatabase } from './move.ts'
import { isUnfinished, placesOf } from './restore/place.ts'
import type { ServiceData } from './sources/service-data.ts'

const NOTES: Migration = {
  name: 'test-0001-notes',
  up: async (db) => {
    await db.schema
      .createTable('notes')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('text', 'varchar(4)')
      .execute()
  },
}

type Note = { id: number; text: string | null }

/** A service with notes in SQLite, and an empty target. */
async function withNotes(t: TestContext, target: TestEngine, notes: Note[]) {
  const serviceAt = (url: string) => {
    const database = { url, setting: 'NOTES_DATABASE_URL', migrations: [NOTES], sealed: {} }
    return { name: 'notes', keys: {}, database }
  }
  const [from, to] = [await sqlite.freshUrl(t), await target.freshUrl(t)]
  const { db, close } = await openDatabase<{ notes: Note }>(from, [NOTES])
  await db.insertInto('notes').values(notes).execute()
  await close()
  return { source: serviceAt(from), to, there: serviceAt(to) }
}

async function notesAt(url: string) {
  const { db, close } = await openDatabase<{ notes: Note }>(url, [NOTES])
  return db.selectFrom('notes').selectAll().orderBy('id').execute().finally(close)
}

async function isEmptyAt(service: ServiceData) {
  const [place] = placesOf(service)
  return place?.isEmpty()
}

const TWO: Note[] = [
  { id: 1, text: 'one' },
  { id: 2, text: null },
]

for (const engine of engines)
  describe(`a move to ${engine.name}`, engine.options, () => {
    test('carries every row, and leaves the target without a mark', async (t) => {
      const { source, to, there } = await withNotes(t, engine, TWO)

      const moved = await moveDatabase(source, to)

      assert.deepEqual(
        moved.filter(({ table }) => table === 'notes').map(({ rows }) => rows),
        [2],
      )
      assert.deepEqual(await notesAt(to), TWO)
      assert.deepEqual(await notesAt(source.database.url), TWO)
      assert.equal(await isUnfinished(there), false)
    })

    test('is refused where there is data, and replaces what a killed move has left', async (t) => {
      const { source, to, there } = await withNotes(t, engine, TWO)
      await moveDatabase(source, to)

      await assert.rejects(moveDatabase(source, to), {
        reason: 'refused',
        message: 'There is data already at the target: choose an empty one.',
      })
      assert.deepEqual(await notesAt(to), TWO)

      await mark(there.database)
      await moveDatabase(source, to)
      assert.deepEqual(await notesAt(to), TWO)
    })

    test('that is only checked leaves nothing at the target', async (t) => {
      const { source, to, there } = await withNotes(t, engine, TWO)

      const checked = await checkMove(source, to)

      assert.equal(await isEmptyAt(there), true)
      assert.deepEqual(checked, await moveDatabase(source, to))
    })
  })

test('text that only PostgreSQL would reject moves from SQLite to SQLite', async (t) => {
  const notes = [{ id: 1, text: 'a\0b' }]
  const { source, to } = await withNotes(t, sqlite, notes)

  await moveDatabase(source, to)

  assert.deepEqual(await notesAt(to), notes)
})

describe('texts that PostgreSQL would reject', { skip: postgres.skip }, () => {
  test('a NUL, and more characters than its column takes: refused, with nothing at the target', async (t) => {
    for (const [text, reason] of [
      ['a\0b', 'a NUL in notes.text'],
      ['12345', 'more than 4 characters in notes.text'],
    ] as const) {
      const { source, to, there } = await withNotes(t, postgres, [{ id: 1, text }])

      for (const move of [checkMove, moveDatabase])
        await assert.rejects(move(source, to), {
          reason: 'refused',
          message: `PostgreSQL would reject the data: ${reason}.`,
        })
      assert.equal(await isEmptyAt(there), true)
    }
  })

  test('characters are counted as PostgreSQL does, not in UTF-16', async (t) => {
    const notes = [{ id: 1, text: '👩‍🚀x' }]
    const { source, to } = await withNotes(t, postgres, notes)

    await moveDatabase(source, to)

    assert.deepEqual(await notesAt(to), notes)
  })

  test('no more than twenty are named', async (t) => {
    const notes = Array.from({ length: 30 }, (_, id) => ({ id, text: '12345' }))
    const { source, to } = await withNotes(t, postgres, notes)

    await assert.rejects(moveDatabase(source, to), ({ message }: Error) => {
      assert.equal(message.split('more than 4').length - 1, 20)
      return true
    })
  })
})
