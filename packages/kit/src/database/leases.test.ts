import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '../logging.ts'
import { engines } from '../testing/engines.ts'
import { claimLease, type LeaseTables } from './leases.repository.ts'
import { startJob, withLease } from './leases.ts'
import { kitMigrations } from './migrations.ts'
import { openDatabase } from './open.ts'

async function openNode(t: TestContext, url: string) {
  const { db, close } = await openDatabase<LeaseTables>(url, kitMigrations)
  t.after(close)
  return db
}

const log = createLogger('test', 'silent')

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
  })
