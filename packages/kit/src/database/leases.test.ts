import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { engines } from '../../testing/databases/engines.ts'
import { createLogger } from '../runtime/logging.ts'
import { claimLease, kitMigrations, type LeaseTables } from './leases.repository.ts'
import { startJob, withLease } from './leases.ts'
import { type Db, openDatabase } from './open.ts'

async function openNode(t: TestContext, url: string) {
  const { db, close } = await openDatabase<LeaseTables>(url, kitMigrations)
  t.after(close)
  return db
}

const log = createLogger('test', 'silent')

/** From now on claiming a lease takes a while. */
async function slowDownClaims(db: Db<LeaseTables>): Promise<void> {
  await sql`create function take_a_while() returns trigger language plpgsql
    as 'begin perform pg_sleep(0.3); return new; end'`.execute(db)
  await sql`create trigger slow before insert on leases
    for each row execute function take_a_while()`.execute(db)
}

async function claimsUnderWay(db: Db<LeaseTables>): Promise<boolean> {
  const { rows } = await sql`select pid from pg_stat_activity
    where datname = current_database() and wait_event = 'PgSleep'`.execute(db)
  return rows.length > 0
}

for (const engine of engines)
  describe(`leases on ${engine.name}`, { skip: engine.skip }, () => {
    test('of two nodes only one does the work', async (t) => {
      const url = await engine.freshUrl(t)
      const [one, two] = [await openNode(t, url), await openNode(t, url)]
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      const { promise: bothAsked, resolve: end } = Promise.withResolvers<void>()

      const first = withLease(one, 'sweep', 60, () => {
        begin()
        return bothAsked
      })
      await begun
      const second = await withLease(two, 'sweep', 60, async () => assert.fail('ran twice'))
      end()

      assert.deepEqual([await first, second], [true, false])
    })

    test('the work can be done again when the holder has finished, even badly', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      const failing = withLease(db, 'sweep', 60, () => Promise.reject(new Error('no')))
      await assert.rejects(failing, /no/)

      assert.equal(await withLease(db, 'sweep', 60, async () => {}), true)
    })

    test('work that fails says why, also when the lease cannot be released', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      const failing = withLease(db, 'sweep', 60, async () => {
        await db.schema.dropTable('leases').execute()
        throw new Error('the first failure')
      })

      await assert.rejects(failing, /the first failure/)
    })

    test('another node takes over from a dead holder when its lease is over', async (t) => {
      const url = await engine.freshUrl(t)
      const [dead, alive] = [await openNode(t, url), await openNode(t, url)]
      await claimLease(dead, 'sweep', 'dead-node', 60)
      const tooEarly = await withLease(alive, 'sweep', 60, async () => {})
      await claimLease(dead, 'sweep', 'dead-node', 0)

      const inTime = await withLease(alive, 'sweep', 60, async () => {})

      assert.deepEqual([tooEarly, inTime], [false, true])
    })

    test('twenty claims at once have one winner', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))

      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, i) => claimLease(db, 'race', `holder-${i}`, 60)),
      )

      assert.equal(claims.filter(Boolean).length, 1)
    })

    test('a job runs when asked and waits for its round when stopped', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      let rounds = 0
      const run = async () => {
        rounds += 1
      }
      const job = startJob({ db, name: 'count', everySeconds: 3600, log, run })

      await Promise.all([job.runNow(), job.stop()])

      assert.equal(rounds, 1)
    })

    test('a job that is stopped breaks off its round, also one that outlasts the next', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      let ended = false
      const run = async (signal: AbortSignal) => {
        begin()
        await once(signal, 'abort')
        ended = true
      }
      const job = startJob({ db, name: 'long', everySeconds: 3600, log, run })
      const long = job.runNow()
      await begun
      const next = await job.runNow()

      await job.stop()

      assert.deepEqual([next, ended, await long], [false, true, true])
    })

    // SQLite has one writer at a time: there nothing can be under way beside the end.
    if (engine.name === 'sqlite') return
    test('a lease that is being renewed when the work ends does not come back', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))

      await withLease(db, 'sweep', 0.3, async () => {
        await slowDownClaims(db)
        while (!(await claimsUnderWay(db))) await setImmediate()
      })
      while (await claimsUnderWay(db)) await setImmediate()

      assert.deepEqual(await db.selectFrom('leases').selectAll().execute(), [])
    })
  })
