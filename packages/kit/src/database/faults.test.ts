import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer as createListener, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { until } from '../../../../test/until.ts'
import {
  type Api,
  type ApiReply,
  bothEngines,
  listenForTest,
  pooled,
  postgres,
  sqlite,
  type TestEngine,
  testClock,
} from '../../testing/index.ts'
import { actuatorRoutes } from '../http/routes/standard.routes.ts'
import { createServer } from '../http/server.ts'
import { createLogger } from '../logging.ts'
import { databaseFault } from './engine.ts'
import { claimLease, kitMigrations, type LeaseTables } from './leases/leases.repository.ts'
import { type Database, type Db, openDatabase } from './open.ts'
import { inTransaction } from './transaction.ts'

test('a server connection lost by PgBouncer counts as unavailable, like one that we lose', () => {
  for (const code of ['08P01', '08006', '57P01'])
    assert.equal(databaseFault({ code }), 'unavailable')
})

for (const engine of bothEngines)
  describe(`a database on ${engine.name}`, engine.options, () => {
    test('a lease far in the future, from before the clock was set back, has expired', async (t) => {
      const { db } = await open(t, engine)
      await db
        .insertInto('leases')
        .values({ name: 'sweep', holder: 'dead', until_ms: 9_999_999_999_999 })
        .execute()

      assert.equal(await claimLease(db, 'sweep', 'alive', 30), true)
      assert.equal(await claimLease(db, 'sweep', 'other', 30), false)
    })

    test('leases of dead processes are deleted at the next start', async (t) => {
      const url = await engine.freshUrl(t)
      const first = await openDatabase<LeaseTables>(url, kitMigrations)
      await first.db
        .insertInto('leases')
        .values({ name: 'old', holder: 'x', until_ms: 1 })
        .execute()
      await claimLease(first.db, 'held', 'x', 30)
      await first.close()

      const { db, close } = await openDatabase<LeaseTables>(url, kitMigrations)
      t.after(close)

      const names = (await db.selectFrom('leases').select('name').execute()).map(({ name }) => name)
      assert.deepEqual(names, ['held'])
    })

    test('the health check writes, and is UP', async (t) => {
      const { api } = await serve(t, await open(t, engine))

      assert.deepEqual((await api.get('/actuator/health/readiness')).body, { status: 'UP' })
    })

    test('that is read-only says so, and still takes requests: readiness stays, health is DEGRADED', async (t) => {
      const database = await open(t, engine, { poolSize: 1 })
      const { api } = await serve(t, database)
      const readOnly = {
        sqlite: 'pragma query_only = on',
        postgres: 'set default_transaction_read_only = on',
      }
      await sql.raw(readOnly[database.engine]).execute(database.db)

      const written = await api.delete('/leases')

      assert.deepEqual(refusalOf(written), [503, 'STORAGE_READ_ONLY', '5'])
      assert.match(written.body.detail, /read-only/)
      assert.equal((await api.get('/leases')).status, 200)
      await assertDegraded(api, /read-only/)
    })
  })

async function assertDegraded(api: Api, reason: RegExp): Promise<void> {
  const health = await api.get('/actuator/health')
  const readiness = await api.get('/actuator/health/readiness')
  assert.deepEqual([health.status, health.body.status], [200, 'DEGRADED'])
  assert.match(health.body.reason, reason)
  assert.deepEqual([readiness.status, readiness.body], [200, { status: 'UP' }])
}

describe('a full disk', () => {
  test('makes writes fail with 507, while reads still work and requests are taken', async (t) => {
    const database = await open(t, sqlite)
    const { api } = await serve(t, database)
    await sql`create table ballast (bytes blob)`.execute(database.db)
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(database.db)
    // SQLite reports the same error for this limit as for a full disk.
    await sql.raw(`pragma max_page_count = ${rows[0]?.page_count}`).execute(database.db)

    await fillLeases(database.db)

    const written = await api.post('/ballast', {})

    assert.deepEqual([written.status, written.body.code], [507, 'STORAGE_FULL'])
    assert.equal((await api.get('/leases')).status, 200)
    await assertDegraded(api, /no room/)
  })
})

describe('a PostgreSQL server', { skip: postgres.skip }, () => {
  test('that closes our connections causes 503 DATABASE_UNAVAILABLE, and is then used again', async (t) => {
    const database = await open(t, postgres)
    const { api } = await serve(t, database)

    const reply = await api.get('/suicide')

    assert.deepEqual(refusalOf(reply), UNAVAILABLE)
    // The pool may hand out the dead connection once more before it learns that it has ended.
    const deadline = performance.now() + 10_000
    while ((await api.get('/leases')).status !== 200) assert.ok(performance.now() < deadline)
  })

  test('whose connections are all in use causes 503, within the timeout', async (t) => {
    const database = await open(t, postgres, { poolSize: 1, connectMs: 3_000 })
    const { api } = await serve(t, database)
    const held = Promise.withResolvers<void>()
    const holding = Promise.withResolvers<void>()
    const transaction = inTransaction(database.db, async (db) => {
      await db.selectFrom('leases').selectAll().execute()
      holding.resolve()
      await held.promise
    })
    await holding.promise

    const reply = await api.get('/leases')

    assert.deepEqual(refusalOf(reply), UNAVAILABLE)
    held.resolve()
    await transaction
    assert.equal((await api.get('/leases')).status, 200)
  })

  test('that is away fails a hundred requests, and is logged once, with the count', async (t) => {
    const gate = await openGate(t, new URL(await postgres.freshUrl(t)))
    const database = await openDatabase<LeaseTables>(gate.url, kitMigrations)
    t.after(database.close)
    const lines: string[] = []
    const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
    const { api } = await serve(t, database, log)
    await gate.close()

    const replies = await Promise.all(Array.from({ length: 100 }, () => api.get('/leases')))
    log.outages.close()

    for (const reply of replies) assert.deepEqual(refusalOf(reply), UNAVAILABLE)
    const seen = lines.map((line) => JSON.parse(line))
    const errors = seen.filter(({ level }) => level >= 50)
    assert.deepEqual(
      errors.map(({ err }) => err.code),
      ['ECONNREFUSED'],
    )
    assert.equal(seen.find(({ state }) => state === 'DATABASE_UNAVAILABLE').failures, 100)
  })

  test('cancels a statement that takes too long, which causes 503', async (t) => {
    const { api } = await serve(t, await open(t, postgres, { statementMs: 100 }))

    const reply = await api.get('/sleep')

    assert.deepEqual(refusalOf(reply), UNAVAILABLE)
  })

  test('with a lock timeout causes 503 while a row or table stays locked', async (t) => {
    const database = await open(t, postgres)
    const { api } = await serve(t, database)

    const reply = await inTransaction(database.db, async (db) => {
      await sql`lock table leases`.execute(db)
      return api.get('/impatient')
    })

    assert.deepEqual(refusalOf(reply), UNAVAILABLE)
    assert.equal((await api.get('/impatient')).status, 200)
  })

  // PgBouncer refuses these parameters; each transaction then sets them itself.
  test('ends a statement after 10 seconds and an idle transaction after 60 by default', {
    skip: pooled,
  }, async (t) => {
    const { db } = await open(t, postgres)

    const { rows } = await sql<{ statement: string; transaction: string }>`
      select current_setting('statement_timeout') as statement,
        current_setting('idle_in_transaction_session_timeout') as transaction`.execute(db)

    assert.deepEqual(rows, [{ statement: '10s', transaction: '1min' }])
  })

  test('that goes away makes readiness DOWN with the reason until it is back, and the service keeps running', async (t) => {
    const gate = await openGate(t, new URL(await postgres.freshUrl(t)))
    const database = await openDatabase<LeaseTables>(gate.url, kitMigrations)
    t.after(database.close)
    const { api } = await serve(t, database)
    const readiness = () => api.get('/actuator/health/readiness')
    assert.equal((await readiness()).status, 200)

    const inFlight = api.get('/sleep')
    await until(
      () => statementsInFlight(database.db),
      (count) => count === 1,
    )
    await gate.close()
    const health = await until(readiness, ({ status }) => status !== 200)
    const refused = await api.get('/leases')
    const liveness = await api.get('/actuator/health/liveness')
    await gate.reopen()
    await until(readiness, ({ status }) => status === 200)

    assert.deepEqual([health.status, health.body.status], [503, 'DOWN'])
    assert.match(health.body.reason, /database/)
    assert.deepEqual(refusalOf(refused), UNAVAILABLE)
    assert.deepEqual(refusalOf(await inFlight), UNAVAILABLE)
    assert.equal(liveness.status, 200)
    assert.equal((await api.get('/leases')).status, 200)
  })
})

/** Until not even a row fits into the pages that exist. */
async function fillLeases(db: Db<LeaseTables>): Promise<void> {
  for (let index = 0; index < 1000; index++)
    try {
      const name = `ballast-${index}`
      await db.insertInto('leases').values({ name, holder: 'x', until_ms: 1 }).execute()
    } catch (error) {
      assert.equal(databaseFault(error), 'full')
      return
    }
}

const UNAVAILABLE = [503, 'DATABASE_UNAVAILABLE', '5']

function refusalOf({ status, body, headers }: ApiReply) {
  return [status, body.code, headers.get('retry-after')]
}

async function statementsInFlight(db: Db<LeaseTables>): Promise<number> {
  const { rows } = await sql`select pid from pg_stat_activity
    where datname = current_database() and wait_event = 'PgSleep'`.execute(db)
  return rows.length
}

/** A proxy in front of PostgreSQL that can close, with all its connections, and reopen. */
async function openGate(t: TestContext, url: URL) {
  const sockets = new Set<Socket>()
  const gate = createListener((socket) => {
    const server = connect(Number(url.port), url.hostname)
    for (const each of [socket, server]) {
      sockets.add(each)
      each.on('error', () => {}).on('close', () => sockets.delete(each))
    }
    socket.pipe(server).pipe(socket)
  })
  const listenAt = async (port: number) => {
    await once(gate.listen(port, '127.0.0.1'), 'listening')
    return (gate.address() as AddressInfo).port
  }
  const close = async () => {
    const closed = once(gate.close(), 'close')
    for (const socket of sockets) socket.resetAndDestroy()
    await closed
  }
  const port = await listenAt(0)
  t.after(close)
  const through = Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) })
  return { url: through.href, close, reopen: () => listenAt(port) }
}

async function open(t: TestContext, engine: TestEngine, options = {}) {
  const database = await openDatabase<LeaseTables>(await engine.freshUrl(t), kitMigrations, options)
  t.after(database.close)
  return database
}

async function serve(
  t: TestContext,
  { db, ping }: Database<LeaseTables>,
  log = createLogger('test', 'silent'),
) {
  const server = createServer({ log, clock: testClock() })
  actuatorRoutes(server, { name: 'test', version: '1', healthy: ping })
  server.get('/leases', () => db.selectFrom('leases').selectAll().execute())
  server.get('/sleep', () => sql`select pg_sleep(30)`.execute(db))
  server.get('/suicide', () => sql`select pg_terminate_backend(pg_backend_pid())`.execute(db))
  server.delete('/leases', () => db.deleteFrom('leases').returningAll().execute())
  server.get('/impatient', () =>
    inTransaction(db, async (each) => {
      await sql`set local lock_timeout = 50`.execute(each)
      return each.deleteFrom('leases').returningAll().execute()
    }),
  )
  server.post('/ballast', () =>
    inTransaction(db, (each) => sql`insert into ballast values (zeroblob(100000))`.execute(each)),
  )
  return listenForTest(t, server)
}
