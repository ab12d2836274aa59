import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { pooled, postgres } from '../../testing/databases/engines.ts'
import { listenForTest } from '../../testing/listen.ts'
import { createServer } from '../http/server.ts'
import { createLogger } from '../logging.ts'
import { systemClock } from '../runtime/clock.ts'
import type { Migration } from './migrate.ts'
import { type Db, openDatabase } from './open.ts'
import { inTransaction } from './transaction.ts'

describe('a lost connection', { skip: postgres.skip }, () => {
  test('between two statements of a transaction fails only that request', async (t) => {
    const { db, lost } = await openWatched(t)
    const server = createServer({
      log: createLogger('test', 'silent'),
      clock: systemClock,
    })
    server.get('/unlucky', () =>
      inTransaction(db, async (transaction) => {
        await terminate(db, await processOf(transaction))
        return processOf(transaction)
      }),
    )
    server.get('/lucky', () => inTransaction(db, processOf))
    const { api } = await listenForTest(t, server)

    const warned = lost()
    const { status, body } = await api.get('/unlucky')
    assert.deepEqual([status, body.code], [503, 'DATABASE_UNAVAILABLE'])
    await warned
    assert.equal((await api.get('/lucky')).status, 200)
  })

  test('in the middle of a statement fails only that statement', async (t) => {
    const { db, lost } = await openWatched(t)
    const unlucky = inTransaction(db, async (transaction) => {
      await terminate(transaction, await processOf(transaction))
    })

    const warned = lost()
    await assert.rejects(unlucky)
    await warned

    assert.ok(await processOf(db))
  })

  test('does not hide an earlier failure of the transaction', async (t) => {
    const { db, lost } = await openWatched(t)
    const unlucky = inTransaction(db, async (transaction) => {
      await terminate(db, await processOf(transaction))
      throw new Error('the first failure')
    })

    const warned = lost()
    await assert.rejects(unlucky, /the first failure/)
    await warned

    assert.ok(await processOf(db))
  })

  // A pooler replaces the connection by itself.
  test('is replaced if it was idle', { skip: pooled }, async (t) => {
    const { db, lost } = await openWatched(t)
    const warned = lost()

    const idle = await inTransaction(db, async (other) => {
      const pid = await processOf(db)
      await terminate(other, pid)
      return pid
    })
    await warned

    assert.notEqual(await processOf(db), idle)
  })
})

const WRITES = 1_500
// Paced by the writes, so that on no machine all of them or none of them lose their connection.
const WRITES_PER_END = 25

test('repeatedly closing connections under load loses no acknowledged write', {
  skip: postgres.skip,
}, async (t) => {
  const url = await postgres.freshUrl(t)
  const { db, close } = await openDatabase<HalfTables>(url, [HALVES])
  t.after(close)
  const acknowledged: number[] = []
  let refused = 0
  let pair = 0
  const write = async () => {
    while (pair < WRITES) {
      const own = pair++
      const options = own % 2 === 0 ? {} : { groupKey: `pair ${own}` }
      const writeBoth = async (transaction: Db<HalfTables>) => {
        for (const half of [1, 2])
          await transaction.insertInto('halves').values({ pair: own, half }).execute()
      }
      try {
        await inTransaction(db, writeBoth, options)
        acknowledged.push(own)
      } catch {
        refused += 1
      }
      if ((acknowledged.length + refused) % WRITES_PER_END === 0) await endSome()
    }
  }
  const endSome = () =>
    sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid != pg_backend_pid()
      order by state = 'idle' limit 3`
      .execute(db)
      .catch(() => {})

  await Promise.all(Array.from({ length: 16 }, write))

  const { rows } = await sql<{ pair: number; halves: number }>`
    select pair, count(*) as halves from halves group by pair`.execute(await freshDb(t, url))
  const kept = new Map(rows.map((row) => [row.pair, row.halves]))
  assert.ok(acknowledged.length > 0 && refused > 0)
  assert.deepEqual(
    acknowledged.filter((own) => kept.get(own) !== 2),
    [],
  )
  assert.ok(rows.every(({ halves }) => halves === 2))
})

type HalfTables = { halves: { pair: number; half: number } }

const HALVES: Migration = {
  name: 'test-0001-halves',
  up: async (db) => {
    await sql`create table halves (pair integer, half integer)`.execute(db)
  },
}

/** A database with connections of its own, none of which was closed. */
async function freshDb(t: TestContext, url: string): Promise<Db<HalfTables>> {
  const { db, close } = await openDatabase<HalfTables>(url, [HALVES])
  t.after(close)
  return db
}

/** A database, and a function that waits for the warning that one of its connections was lost. */
async function openWatched(t: TestContext) {
  const lines = new PassThrough()
  const log = createLogger('test', 'warn', lines)
  const database = await openDatabase<HalfTables>(await postgres.freshUrl(t), [], { log })
  t.after(() => database.close())
  const lost = async () => {
    const [line] = await once(lines, 'data')
    assert.match(String(line), /a database connection was lost/)
  }
  return { db: database.db, lost }
}

async function processOf(db: Db<HalfTables>): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  return rows[0]?.pid ?? 0
}

/** Returns once the server process of that connection has ended. */
async function terminate(db: Db<HalfTables>, pid: number): Promise<void> {
  await sql`select pg_terminate_backend(${pid}, 60000)`.execute(db)
}
