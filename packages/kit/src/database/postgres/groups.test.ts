import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { postgres } from '../../../testing/databases/engines.ts'
import { databaseUnavailable } from '../../problems.ts'
import { forUpdate } from '../engine.ts'
import { type Db, openDatabase } from '../open.ts'
import { prepared } from '../prepared.ts'
import { afterCommit, inTransaction } from '../transaction.ts'

type Tables = {
  counters: { name: string; count: number }
  notes: { id: string; counter: string; size: number | null }
}

const TABLES = {
  name: 'test-0001-counters',
  up: async (db: Db<unknown>) => {
    await sql`create table counters (name varchar(9) primary key, count bigint not null)`.execute(
      db,
    )
    await sql`create table notes (id varchar(9) primary key, counter text, size integer)`.execute(
      db,
    )
  },
}

const lock = prepared((db: Db<Tables>, { name }: { name: string }) =>
  forUpdate(db, db.selectFrom('counters').selectAll().where('name', '=', name)),
)

const write = prepared((db: Db<Tables>, { name, count }: { name: string; count: number }) =>
  db.updateTable('counters').set({ count }).where('name', '=', name),
)

const claim = prepared((db: Db<Tables>, note: Tables['notes']) =>
  db
    .insertInto('notes')
    .values(note)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id'),
)

const NAMES = ['a', 'b', 'c', 'd']

async function open(t: TestContext, url: string) {
  const { db, close } = await openDatabase<Tables>(url, [TABLES])
  t.after(close)
  await db
    .insertInto('counters')
    .values(NAMES.map((name) => ({ name, count: 0 })))
    .execute()
  const counts = async () => {
    const rows = await db.selectFrom('counters').selectAll().orderBy('name').execute()
    return rows.map(({ count }) => count)
  }
  /** Increments the counter, but only once for each note. */
  const count = (name: string, id: string, check = (_claimed: boolean) => {}) =>
    inTransaction(
      db,
      async (transaction) => {
        const note = { id, counter: name, size: id.length > 1 ? id.length : null }
        const [[claimed], [found]] = await Promise.all([
          claim(transaction, note),
          lock(transaction, { name }),
        ])
        check(claimed !== undefined)
        if (claimed) await write(transaction, { name, count: (found?.count ?? 0) + 1 })
        return claimed?.id
      },
      { groupKey: name },
    )
  return { db, counts, count }
}

describe('transactions of one turn on postgres', { skip: postgres.skip }, () => {
  test('with different keys share one transaction, and each gets its own rows', async (t) => {
    const { db, counts, count } = await open(t, await postgres.freshUrl(t))
    await count('c', 'known')

    const ids = ['1', 'two', 'known', '4']
    const claimed = await Promise.all(NAMES.map((name, at) => count(name, ids[at] ?? '')))

    assert.deepEqual(claimed, ['1', 'two', undefined, '4'])
    assert.deepEqual(await counts(), [1, 1, 1, 1])
    const { rows } = await sql<{ counter: string; size: number | null; inserted: number }>`
      select counter, size, rank() over (order by xmin::text::bigint) as inserted
      from notes order by counter`.execute(db)
    assert.deepEqual(rows, [
      { counter: 'a', size: null, inserted: 2 },
      { counter: 'b', size: 3, inserted: 2 },
      { counter: 'c', size: 5, inserted: 1 },
      { counter: 'd', size: null, inserted: 2 },
    ])
  })

  test('with the same key run one after another, so that no change is lost', async (t) => {
    const { counts, count } = await open(t, await postgres.freshUrl(t))

    const all = Array.from({ length: 100 }, (_, n) => count(NAMES[n % 4] ?? '', `n${n}`))
    await Promise.all(all)

    assert.deepEqual(await counts(), [25, 25, 25, 25])
  })

  test('run alone when one of them fails, and only that one fails', async (t) => {
    const { db, counts, count } = await open(t, await postgres.freshUrl(t))
    const told: string[] = []
    const tell = (name: string) =>
      inTransaction(db, async (one) => afterCommit(one, () => told.push(name)), { groupKey: name })
    const refuse = () => {
      throw new Error('refused')
    }

    const outcomes = await Promise.allSettled([
      count('a', '1'),
      count('b', '2', refuse),
      // Too long for its column, so the database refuses it.
      count('c', 'far too long'),
      count('d', '4'),
      tell('e'),
    ])

    assert.deepEqual(
      outcomes.map((one) => (one.status === 'rejected' ? one.reason.message : one.value)),
      ['1', 'refused', 'value too long for type character varying(9)', '4', undefined],
    )
    assert.deepEqual(await counts(), [1, 0, 0, 1])
    assert.deepEqual(told, ['e'])
  })

  test('do not wait for a row locked by another node unless they need it', async (t) => {
    const { db, counts, count } = await open(t, await postgres.freshUrl(t))
    const [free, held] = await inTransaction(db, async (other) => {
      await lock(other, { name: 'b' })
      const waiting = count('b', 'held')
      const others = await Promise.all([count('a', '1'), count('c', '3')])
      assert.deepEqual(await counts(), [1, 0, 1, 0])
      return [others, { waiting }] as const
    })

    assert.deepEqual([...free, await held.waiting], ['1', '3', 'held'])
    assert.deepEqual(await counts(), [1, 1, 1, 0])
  })

  test('wait for their turn no longer than for a connection, and fail together', async (t) => {
    const url = await postgres.freshUrl(t)
    const { db, close } = await openDatabase<Tables>(url, [TABLES], {
      poolSize: 1,
      connectMs: 3_000,
    })
    t.after(close)
    const attempt = (name: string) =>
      inTransaction(db, (one) => lock(one, { name }), { groupKey: name })

    const outcomes = await inTransaction(db, async (other) => {
      // Takes the only connection of the pool.
      await lock(other, { name: 'a' })
      return Promise.allSettled(NAMES.map(attempt))
    })

    for (const outcome of outcomes)
      assert.ok(outcome.status === 'rejected' && databaseUnavailable.is(outcome.reason))
  })

  test('that insert the same row, outside their keys, insert it only once', async (t) => {
    const { counts, count } = await open(t, await postgres.freshUrl(t))

    const claimed = await Promise.all(NAMES.map((name) => count(name, 'same')))

    assert.equal(claimed.filter((id) => id === 'same').length, 1)
    assert.equal(
      (await counts()).reduce((sum, one) => sum + one),
      1,
    )
  })
})

const add = prepared(
  (db: Db<Tables>, note: Tables['notes']) => db.insertInto('notes').values(note).returning('size'),
  {
    sql: `insert into notes (id, counter, size)
      select id, counter, size from json_to_recordset($1) as one (id text, counter text, size integer)
      returning id, size`,
    keys: ['id'],
  },
)

describe('statements of one turn on postgres, outside of transactions', {
  skip: postgres.skip,
}, () => {
  test('are merged into one where possible, and each gets its own answer', async (t) => {
    const { db } = await open(t, await postgres.freshUrl(t))

    const answers = await Promise.all(
      NAMES.map((id, size) => add(db, { id, counter: id, size: size + 1 })),
    )

    assert.deepEqual(
      answers.map(([row]) => row?.size),
      [1, 2, 3, 4],
    )
    const { rows } = await sql`select distinct xmin from notes`.execute(db)
    assert.equal(rows.length, 1)
  })

  test('run alone when one of them fails, and only that one fails', async (t) => {
    const { db } = await open(t, await postgres.freshUrl(t))
    const ids = ['one', 'far too long', 'two']

    const outcomes = await Promise.allSettled(
      ids.map((id) => add(db, { id, counter: 'a', size: id.length })),
    )

    assert.deepEqual(
      outcomes.map((one) => (one.status === 'rejected' ? one.reason.message : one.value[0]?.size)),
      [3, 'value too long for type character varying(9)', 3],
    )
  })

  test('for the same row run one after another, so that only one inserts it', async (t) => {
    const { db } = await open(t, await postgres.freshUrl(t))

    const outcomes = await Promise.allSettled(
      NAMES.map((counter) => add(db, { id: 'same', counter, size: 1 })),
    )

    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  })

  test('do not wait for a row locked by another transaction unless they need it', async (t) => {
    const { db } = await open(t, await postgres.freshUrl(t))
    const ids = ['1', 'held', '3']

    const [free, held] = await inTransaction(db, async (other) => {
      await claim(other, { id: 'held', counter: 'a', size: 1 })
      const all = ids.map((id) => add(db, { id, counter: 'b', size: 2 }).catch(() => 'refused'))
      return [await Promise.all([all[0], all[2]]), { waiting: all[1] }] as const
    })

    assert.deepEqual(free, [[{ size: 2 }], [{ size: 2 }]])
    assert.equal(await held.waiting, 'refused')
  })

  test('are rolled back with their transaction if they are in one', async (t) => {
    const { db } = await open(t, await postgres.freshUrl(t))

    const undone = inTransaction(db, async (transaction) => {
      await add(transaction, { id: 'a', counter: 'a', size: 1 })
      throw new Error('undone')
    })

    await assert.rejects(undone, /undone/)
    assert.deepEqual(await db.selectFrom('notes').selectAll().execute(), [])
  })
})
