import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { bothEngines, postgres, sqlite, type TestEngine } from '../../testing/databases/engines.ts'
import { countRoundTrips } from '../../testing/databases/round-trips.ts'
import { isUniqueViolation } from './engine.ts'
import type { Migration } from './migrate.ts'
import { type Database, type Db, openDatabase } from './open.ts'
import { prepared } from './prepared.ts'
import { afterCommit, inTransaction, lastly } from './transaction.ts'

type Tables = { notes: { text: string } }

const NOTES: Migration = {
  name: 'test-0001-notes',
  up: async (db) => {
    await db.schema
      .createTable('notes')
      .addColumn('text', 'varchar(100000)', (column) => column.primaryKey())
      .execute()
  },
}

async function openNotes(t: TestContext, engine: TestEngine): Promise<Database<Tables>> {
  const database = await openDatabase<Tables>(await engine.freshUrl(t), [NOTES])
  t.after(() => database.close())
  return database
}

const add = (db: Db<Tables>, text: string) => db.insertInto('notes').values({ text }).execute()

const texts = async ({ db }: Database<Tables>) =>
  (await db.selectFrom('notes').select('text').orderBy('text').execute()).map(({ text }) => text)

for (const engine of bothEngines)
  describe(`transactions on ${engine.name}`, engine.options, () => {
    test('are not retried when another one fails', async (t) => {
      const database = await openNotes(t, engine)
      const runs = new Map<string, number>()
      const write = (name: string, fail?: 'before' | 'after') =>
        inTransaction(database.db, async (db) => {
          runs.set(name, (runs.get(name) ?? 0) + 1)
          if (fail === 'before') throw new Error(`refused: ${name}`)
          await add(db, name)
          if (fail === 'after') throw new Error(`refused: ${name}`)
        })

      const outcomes = await Promise.allSettled([
        write('a'),
        write('b', 'before'),
        write('c'),
        write('d', 'after'),
        write('e'),
      ])

      assert.deepEqual(
        outcomes.map((one) => (one.status === 'rejected' ? one.reason.message : 'kept')),
        ['kept', 'refused: b', 'kept', 'refused: d', 'kept'],
      )
      assert.deepEqual([...runs.values()], [1, 1, 1, 1, 1])
      assert.deepEqual(await texts(database), ['a', 'c', 'e'])
    })
  })

for (const engine of bothEngines)
  describe(`an afterCommit callback on ${engine.name}`, engine.options, () => {
    test('runs once, after the commit, and never after a rollback', async (t) => {
      const database = await openNotes(t, engine)
      const told: string[] = []
      const write = (name: string, fails = false) =>
        inTransaction(database.db, async (db) => {
          await inTransaction(db, async (same) => afterCommit(same, () => told.push(name)))
          await add(db, name)
          assert.deepEqual(
            told.filter((other) => other === name),
            [],
          )
          if (fails) throw new Error(`refused: ${name}`)
        })

      const outcomes = await Promise.allSettled([write('a'), write('b', true), write('c')])
      await assert.rejects(write('a'), (error) => isUniqueViolation(error))

      assert.equal(outcomes[1]?.status, 'rejected')
      assert.deepEqual(told.toSorted(), ['a', 'c'])
      assert.throws(() => afterCommit(database.db, () => {}), /needs an open transaction/)
    })
  })

const LAST = prepared((db: Db<Tables>, note: { text: string }) =>
  db.insertInto('notes').values(note).returning('text'),
)

const SILENT = prepared((db: Db<Tables>, note: { text: string }) =>
  db.insertInto('notes').values(note),
)

for (const engine of bothEngines)
  describe(`the last statement of a transaction on ${engine.name}`, engine.options, () => {
    test('provides the result of the transaction', async (t) => {
      const database = await openNotes(t, engine)

      const answer = await inTransaction(database.db, async (db) => lastly(LAST(db, { text: 'a' })))

      assert.deepEqual(answer, [{ text: 'a' }])
      assert.deepEqual(await texts(database), ['a'])
    })

    test('rolls everything back when it fails', async (t) => {
      const database = await openNotes(t, engine)
      const twice = inTransaction(database.db, async (db) => {
        await SILENT(db, { text: 'b' })
        await SILENT(db, { text: 'a' })
        return lastly(LAST(db, { text: 'a' }))
      })

      await assert.rejects(twice, (error) => isUniqueViolation(error))

      assert.deepEqual(await texts(database), [])
    })
  })

describe('a transaction on postgres', { skip: postgres.skip }, () => {
  test('takes one round trip when it waits for no answer', async (t) => {
    const { url, roundTripsOf } = await countRoundTrips(t, await postgres.freshUrl(t))
    const { db, close } = await openDatabase<Tables>(url, [NOTES], { poolSize: 1 })
    t.after(close)

    const count = await roundTripsOf(() =>
      inTransaction(db, async (transaction) => {
        await SILENT(transaction, { text: 'a' })
        await SILENT(transaction, { text: 'b' })
        return lastly(LAST(transaction, { text: 'c' }))
      }),
    )

    assert.equal(count, 1)
  })

  test('that is retried runs its afterCommit callback once', async (t) => {
    const { db } = await openNotes(t, postgres as TestEngine)
    const told: number[] = []
    let attempts = 0

    await inTransaction(db, async (transaction) => {
      attempts += 1
      const attempt = attempts
      afterCommit(transaction, () => told.push(attempt))
      if (attempt === 1) throw Object.assign(new Error('could not serialize'), { code: '40001' })
    })

    assert.deepEqual(told, [2])
  })

  test('fails with the error of the first failed statement, even if it awaits a later one', async (t) => {
    const { db } = await openNotes(t, postgres as TestEngine)

    const failing = inTransaction(db, async (transaction) => {
      await SILENT(transaction, { text: 'a' })
      await SILENT(transaction, { text: 'a' })
      await LAST(transaction, { text: 'b' })
    })

    await assert.rejects(failing, (error) => isUniqueViolation(error))
  })

  test('can later send statements that a failure skipped on the same connection', async (t) => {
    const url = await postgres.freshUrl(t)
    const database = await openDatabase<Tables>(url, [NOTES], { poolSize: 1 })
    t.after(() => database.close())
    const failing = inTransaction(database.db, async (transaction) => {
      const failed = sql`select 1 / 0`.execute(transaction)
      await SILENT(transaction, { text: 'a' })
      await Promise.all([failed, LAST(transaction, { text: 'b' })])
    })
    await assert.rejects(failing, /division by zero/)

    await inTransaction(database.db, async (transaction) => {
      await SILENT(transaction, { text: 'a' })
      await LAST(transaction, { text: 'b' })
    })

    assert.deepEqual(await texts(database), ['a', 'b'])
  })

  test('takes one round trip if its work fails before the first answer, and leaves nothing', async (t) => {
    const { url, roundTripsOf } = await countRoundTrips(t, await postgres.freshUrl(t))
    const database = await openDatabase<Tables>(url, [NOTES], { poolSize: 1 })
    t.after(() => database.close())

    const count = await roundTripsOf(() => {
      const failing = inTransaction(database.db, async (transaction) => {
        await SILENT(transaction, { text: 'a' })
        throw new Error('refused')
      })
      return assert.rejects(failing, /refused/)
    })

    assert.equal(count, 1)
    assert.deepEqual(await texts(database), [])
  })
})

describe('transactions on sqlite that are committed together', () => {
  test('a late statement does not join another transaction', async (t) => {
    const database = await openNotes(t, sqlite)
    const { promise: escaped, resolve: letOut } = Promise.withResolvers<{ db: Db<Tables> }>()
    const first = inTransaction(database.db, async (db) => letOut({ db }))
    const second = inTransaction(database.db, async (db) => {
      const ended = await escaped
      await assert.rejects(add(ended.db, 'late'), /already committed/)
      await add(db, 'in time')
    })

    await Promise.all([first, second])

    assert.deepEqual(await texts(database), ['in time'])
  })

  test('fail as full on a full disk, and the next one finds space', async (t) => {
    const database = await openNotes(t, sqlite)
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(database.db)
    await sql`pragma max_page_count = ${sql.lit((rows[0]?.page_count ?? 0) + 4)}`.execute(
      database.db,
    )
    const write = (name: string, bytes: number) =>
      inTransaction(database.db, (db) => add(db, name + 'x'.repeat(bytes)))

    const outcomes = await Promise.allSettled([write('a', 10), write('b', 90_000), write('c', 10)])

    assert.deepEqual(
      outcomes.map((one) => (one.status === 'rejected' ? one.reason.code : 'kept')),
      ['SQLITE_FULL', 'SQLITE_FULL', 'kept'],
    )
    assert.deepEqual(await texts(database), [`c${'x'.repeat(10)}`])
  })
})
