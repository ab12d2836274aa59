import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { postgres } from '../../../testing/databases/engines.ts'
import { type Db, openDatabase } from '../open.ts'
import { prepared } from '../prepared.ts'

type Tables = { notes: { id: number; topic: string; text: string } }

const NOTES = {
  name: 'test-0001-notes',
  up: async (db: Db<unknown>) => {
    await sql`create table notes (id integer primary key, topic text, text text)`.execute(db)
  },
}

const byTopic = prepared((db: Db<Tables>, { topic }: { topic: string }) =>
  db.selectFrom('notes').select('text').where('topic', '=', topic).orderBy('id'),
)

const countByTopic = prepared((db: Db<Tables>, { topic }: { topic: string }) =>
  db
    .selectFrom('notes')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('topic', '=', topic),
)

/** The named statements of the only connection, and how often each was run. */
async function callsOf(db: Db<Tables>): Promise<{ plans: number; text: string }[]> {
  const { rows } = await sql<{ plans: number; text: string }>`
    select generic_plans + custom_plans as plans, statement as text
    from pg_prepared_statements order by statement`.execute(db)
  return rows
}

describe('look-ups on postgres', { skip: postgres.skip }, () => {
  test('of one turn are sent as one query, and the rows of each key keep their order', async (t) => {
    const url = await postgres.freshUrl(t)
    const { db, close } = await openDatabase<Tables>(url, [NOTES], { poolSize: 1 })
    t.after(close)
    const rows = Array.from({ length: 30 }, (_, id) => ({
      id,
      topic: `topic ${id % 10}`,
      text: `note ${id}`,
    }))
    await db.insertInto('notes').values(rows).execute()

    const topics = rows.map(({ topic }) => topic)
    const found = await Promise.all(topics.map((topic) => byTopic(db, { topic })))
    const counts = await Promise.all(topics.map((topic) => countByTopic(db, { topic })))

    assert.deepEqual(found[3], [{ text: 'note 3' }, { text: 'note 13' }, { text: 'note 23' }])
    assert.deepEqual(found[13], found[3])
    assert.notEqual(found[13]?.[0], found[3]?.[0])
    assert.ok(counts.every(([row]) => row?.count === 3))
    const [look, count] = (await callsOf(db)).toSorted((a, b) => a.plans - b.plans)
    assert.match(look?.text ?? '', /any\(\$1\)/)
    assert.equal(look?.plans, 1)
    assert.match(count?.text ?? '', /count/)
    assert.equal(count?.plans, 30)
  })
})
