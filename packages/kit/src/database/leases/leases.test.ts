import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { until } from '../../../../../test/until.ts'
import { bothEngines } from '../../../testing/databases/engines.ts'
import { createLogger } from '../../logging.ts'
import { Metrics } from '../../metrics/metrics.ts'
import { type Db, openDatabase } from '../open.ts'
import {
  claimLease,
  deleteDeadLeases,
  deleteLease,
  isLeaseHeld,
  kitMigrations,
  type LeaseTables,
} from './leases.repository.ts'
import { startJob, withLease } from './leases.ts'

async function openNode(t: TestContext, url: string) {
  const { db, close } = await openDatabase<LeaseTables>(url, kitMigrations)
  t.after(close)
  return db
}

const log = createLogger('test', 'silent')

const leasesIn = (db: Db<LeaseTables>) => db.selectFrom('leases').selectAll().execute()

/** Makes the lease expire in this many seconds. */
const shortenLease = (db: Db<LeaseTables>, seconds: number) =>
  db
    .updateTable('leases')
    .set({ until_ms: Date.now() + seconds * 1000 })
    .execute()

/** Makes every claim of a lease take a while from now on. */
async function slowDownClaims(db: Db<LeaseTables>): Promise<void> {
  await sql`create function take_a_while() returns trigger language plpgsql
    as 'begin perform pg_sleep(0.3); return new; end'`.execute(db)
  await sql`create trigger slow before insert on leases
    for each row execute function take_a_while()`.execute(db)
}

async function hasClaimsInFlight(db: Db<LeaseTables>): Promise<boolean> {
  const { rows } = await sql`select pid from pg_stat_activity
    where datname = current_database() and wait_event = 'PgSleep'`.execute(db)
  return rows.length > 0
}

for (const engine of bothEngines)
  describe(`leases on ${engine.name}`, engine.options, () => {
    test('only one of two nodes does the work', async (t) => {
      const url = await engine.freshUrl(t)
      const [one, two] = [await openNode(t, url), await openNode(t, url)]
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      const { promise: bothAsked, resolve: end } = Promise.withResolvers<void>()

      const first = withLease(one, 'sweep', 60, () => {
        begin()
        return bothAsked.then(() => 'done')
      })
      await begun
      const second = await withLease(two, 'sweep', 60, async () => assert.fail('ran twice'))
      end()

      assert.deepEqual([await first, second], [{ result: 'done' }, undefined])
    })

    test('the work can be done again once the holder has finished, even if it failed', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      const failing = withLease(db, 'sweep', 60, () => Promise.reject(new Error('no')))
      await assert.rejects(failing, /no/)

      assert.ok(await withLease(db, 'sweep', 60, async () => {}))
    })

    test('work that fails keeps its error even when the lease cannot be released', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      const failing = withLease(db, 'sweep', 60, async () => {
        await db.schema.dropTable('leases').execute()
        throw new Error('the first failure')
      })

      await assert.rejects(failing, /the first failure/)
    })

    test('another node takes over from a dead holder when its lease expires', async (t) => {
      const url = await engine.freshUrl(t)
      const [dead, alive] = [await openNode(t, url), await openNode(t, url)]
      await claimLease(dead, 'sweep', 'dead-node', 60)
      const tooEarly = await withLease(alive, 'sweep', 60, async () => {})
      await claimLease(dead, 'sweep', 'dead-node', 0)

      const inTime = await withLease(alive, 'sweep', 60, async () => {})

      assert.deepEqual([tooEarly, inTime], [undefined, { result: undefined }])
    })

    test('a lease that ends implausibly late, from before the clock was set back, has expired', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      const endsIn = async (seconds: number) => {
        await db.deleteFrom('leases').execute()
        await claimLease(db, 'sweep', 'another', seconds)
      }

      await endsIn(119)
      assert.equal(await claimLease(db, 'sweep', 'node', 60), false)
      await endsIn(122)

      assert.equal(await claimLease(db, 'sweep', 'node', 60), true)
    })

    test('twenty claims at once have one winner', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))

      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, i) => claimLease(db, 'race', `holder-${i}`, 60)),
      )

      assert.equal(claims.filter(Boolean).length, 1)
    })

    test('a lease expires after its duration by the clock of the database', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      const before = Date.now()
      await claimLease(db, 'sweep', 'node', 3600)
      const after = Date.now()

      const [lease] = await leasesIn(db)

      const givenAt = Number(lease?.until_ms) - 3_600_000
      assert.ok(givenAt >= before - 1 && givenAt <= after + 1, `${before} ${givenAt} ${after}`)
    })

    test('a lease is released only under its name and by its holder', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      for (const name of ['sweep', 'poll']) await claimLease(db, name, 'node', 60)

      await deleteLease(db, 'sweep', 'another')
      assert.equal((await leasesIn(db)).length, 2)
      await deleteLease(db, 'sweep', 'node')

      assert.deepEqual(
        (await leasesIn(db)).map(({ name }) => name),
        ['poll'],
      )
    })

    test('a lease is found by the prefix of its name until it expires', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      await claimLease(db, 'backup:1', 'node', 60)

      assert.deepEqual(
        [await isLeaseHeld(db, 'backup:', 60), await isLeaseHeld(db, '1', 60)],
        [true, false],
      )
      await claimLease(db, 'backup:1', 'node', 0)

      assert.equal(await isLeaseHeld(db, 'backup:', 60), false)
    })

    test('a lease from before the clock was set back does not count and is deleted', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      await claimLease(db, 'backup:1', 'node', 60)
      const until_ms = Date.now() + 30 * 86_400_000
      await db.updateTable('leases').set({ until_ms }).execute()
      await claimLease(db, 'made', 'node', 2 * 86_400)

      assert.equal(await isLeaseHeld(db, 'backup:', 60), false)
      await deleteDeadLeases(db)

      assert.deepEqual(
        (await leasesIn(db)).map(({ name }) => name),
        ['made'],
      )
    })

    test('a lease that expired more than an hour ago is deleted, a more recent one is not', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      for (const name of ['old', 'young']) await claimLease(db, name, 'node', 60)
      const endedMinutesAgo = (name: string, minutes: number) => {
        const until_ms = Date.now() - minutes * 60_000
        return db.updateTable('leases').set({ until_ms }).where('name', '=', name).execute()
      }
      await endedMinutesAgo('old', 61)
      await endedMinutesAgo('young', 59)

      await deleteDeadLeases(db)

      assert.deepEqual(
        (await leasesIn(db)).map(({ name }) => name),
        ['young'],
      )
    })

    test('a lease is renewed after a third of its duration, as long as the work goes on', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      t.mock.timers.enable({ apis: ['setInterval'] })
      const isTaken = async () => !(await claimLease(db, 'sweep', 'another', 60))

      await withLease(db, 'sweep', 60, async (signal) => {
        t.mock.timers.tick(19_999)
        await shortenLease(db, 40)
        t.mock.timers.tick(1)
        await until(
          () => leasesIn(db),
          ([lease]) => Number(lease?.until_ms) > Date.now() + 45_000,
        )
        assert.deepEqual([await isTaken(), signal.aborted], [true, false])
      })
      t.mock.timers.tick(60_000)

      assert.equal(await isTaken(), false)
    })

    test('work is told that its lease is lost, and leaves the lease to its new holder', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      t.mock.timers.enable({ apis: ['setInterval'] })

      await withLease(db, 'sweep', 60, async (signal) => {
        await shortenLease(db, 0)
        await claimLease(db, 'sweep', 'another', 60)
        assert.equal(signal.aborted, false)
        const aborted = once(signal, 'abort', { signal: AbortSignal.timeout(10_000) })
        t.mock.timers.tick(20_000)
        await aborted
      })

      assert.deepEqual(
        (await leasesIn(db)).map(({ holder }) => holder),
        ['another'],
      )
    })

    test('work is aborted when its lease cannot be renewed', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      t.mock.timers.enable({ apis: ['setInterval'] })

      const working = withLease(db, 'sweep', 60, async (signal) => {
        await db.schema.dropTable('leases').execute()
        const aborted = once(signal, 'abort', { signal: AbortSignal.timeout(10_000) })
        t.mock.timers.tick(20_000)
        await aborted
        throw signal.reason
      })

      await assert.rejects(working, /leases/)
    })

    test('a job runs periodically until it is stopped', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      t.mock.timers.enable({ apis: ['setInterval'] })
      let rounds = 0
      const millisecondsLeft: number[] = []
      const run = async () => {
        const [lease] = await leasesIn(db)
        millisecondsLeft.push(Number(lease?.until_ms) - Date.now())
        rounds += 1
      }
      const job = startJob({ db, name: 'count', everySeconds: 60, log, run })

      t.mock.timers.tick(59_999)
      assert.deepEqual(await leasesIn(db), [])
      for (const expected of [1, 2]) {
        t.mock.timers.tick(expected === 1 ? 1 : 60_000)
        await until(
          async () => [rounds, (await leasesIn(db)).length],
          ([done, held]) => done === expected && held === 0,
        )
      }
      await job.stop()
      t.mock.timers.tick(120_000)
      await job.stop()

      assert.equal(rounds, 2)
      for (const left of millisecondsLeft) assert.ok(left > 30_000 && left <= 60_001, String(left))
    })

    test('a job runs on demand, and stopping it waits for the current round', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))
      let rounds = 0
      const run = async () => {
        rounds += 1
      }
      const metrics = new Metrics()
      const lastSuccess = async () => {
        const families = await metrics.read()
        const { samples } = families.find(({ type }) => type === 'gauge') ?? { samples: [] }
        return samples.map((sample) => 'value' in sample && [sample.labels, sample.value])
      }
      t.mock.timers.enable({ apis: ['Date'], now: 5_000 })
      const job = startJob({ db, name: 'count', everySeconds: 3600, log, metrics, run })
      t.mock.timers.setTime(9_000)
      assert.deepEqual(await lastSuccess(), [[{ job_name: 'count' }, 5]])

      await Promise.all([job.runNow(), job.stop()])
      assert.deepEqual(await lastSuccess(), [[{ job_name: 'count' }, 9]])

      assert.equal(rounds, 1)
    })

    test('stopping a job aborts its round, even one that outlasts the next', async (t) => {
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

    // SQLite has one writer at a time, so no renewal can be in flight when the work ends.
    if (engine.name === 'sqlite') return
    test('a renewal in flight when the work ends does not bring the lease back', async (t) => {
      const db = await openNode(t, await engine.freshUrl(t))

      await withLease(db, 'sweep', 0.3, async () => {
        await slowDownClaims(db)
        await until(() => hasClaimsInFlight(db), Boolean, 1)
      })
      await until(async () => !(await hasClaimsInFlight(db)), Boolean, 1)

      assert.deepEqual(await db.selectFrom('leases').selectAll().execute(), [])
    })
  })
