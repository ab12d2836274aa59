import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { inTransaction } from '@plinth/kit/database'
import { createLogger } from '@plinth/kit/logging'
import type { KyselyPlugin } from 'kysely'
import { until } from '../../../test/until.ts'
import { openStorage } from '../src/app.ts'
import { newObjectName } from '../src/files/storage.ts'
import { switchContent } from '../src/files/versions/replace.ts'
import { upsertChangedLimit } from '../src/limits/limits.repository.ts'
import { followLimits } from '../src/limits/limits.ts'
import { replace, TEXT } from './replace-file.ts'
import { BY, engines, startStorage, upload } from './start-storage.ts'

for (const engine of engines)
  describe(`limits that change meanwhile, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL, ...env })
      const log = createLogger('limits', 'silent')
      const { config, clock } = service
      const { storage, database } = await openStorage(config, { clock, log })
      t.after(async () => {
        storage.providers.close()
        await database.close()
      })
      return { ...service, storage }
    }

    /** The limits as a node follows them whose every reading waits until it is let go. */
    const startSlowly = async (t: TestContext) => {
      const { storage, config, clock } = await start(t)
      const readings: (() => void)[] = []
      const slow: KyselyPlugin = {
        transformQuery: ({ node }) => node,
        transformResult: async ({ result }) => {
          await new Promise<void>((resolve) => readings.push(resolve))
          return result
        },
      }
      t.mock.timers.enable({ apis: ['setInterval'] })
      const db = storage.db.withPlugin(slow)
      const live = followLimits({ ...storage, db }, config.limits)
      const begin = async (begins: () => Promise<void>) => {
        const count = readings.length
        const refreshed = begins()
        await until(
          async () => readings.length,
          (length) => length > count,
        )
        const end = () => {
          readings[count]?.()
          return refreshed
        }
        return { end }
      }
      const change = (value: number) =>
        upsertChangedLimit(storage.db, {
          name: 'userFiles',
          value,
          changedAt: clock().toISOString(),
        })
      return { live, readings, begin, change, most: () => storage.limits.quota.files }
    }

    test('a slow reading applies although the next one has begun, but does not undo that one', async (t) => {
      const { live, begin, change, most } = await startSlowly(t)
      await change(1)
      const first = await begin(live.refresh)
      await change(2)
      const second = await begin(live.refresh)
      await change(3)
      const third = await begin(live.refresh)

      await first.end()
      assert.equal(most(), 1)
      await third.end()
      assert.equal(most(), 3)
      await second.end()
      assert.equal(most(), 3)
    })

    test('while one reading lasts no second begins', async (t) => {
      const { live, begin, readings } = await startSlowly(t)
      const first = await begin(async () => t.mock.timers.tick(1000))
      t.mock.timers.tick(5000)
      // It would have reached the database before this one.
      const asked = await begin(live.refresh)

      assert.equal(readings.length, 2)
      await first.end()
      await asked.end()
      const next = await begin(async () => t.mock.timers.tick(1000))
      await next.end()
      await live.stop()
    })

    test('a version that is kept is counted, whatever the limit becomes while content is replaced', async (t) => {
      const { api, user: token, storage } = await start(t, { STORAGE_FULL_USER_BYTES: '1000' })
      const { body: file } = await upload(api, token, { ...TEXT, bytes: Buffer.alloc(10, 'a') })
      await replace(api, token, file.id, { bytes: Buffer.alloc(20, 'b') })
      const caller = { userId: '2', username: 'user', roles: [], sessionId: '' }
      const replacing = { id: file.id, caller, origin: BY.origin, ifMatch: undefined }
      const content = { sizeBytes: 5, checksumSha256: 'c', crc32: null }
      const location = await storage.active.find()

      for (const readings of [1, 2, 3]) {
        let left = readings
        const get = () => (left-- > 0 ? 1 : 0)
        Object.defineProperty(storage.limits, 'versions', {
          ...{ get, enumerable: true, configurable: true },
        })
        const stored = { ...content, location, objectName: newObjectName('txt') }
        await inTransaction(storage.db, (db) =>
          switchContent({ ...storage, db }, replacing, stored, { isCounted: false }),
        )
      }

      const { body: usage } = await api.get('/file/usage', { token })
      assert.deepEqual([usage.bytes, usage.versionBytes], [5, 5])
      const large = { ...TEXT, bytes: Buffer.alloc(991, 'd') }
      assert.equal((await upload(api, token, large)).status, 413)
      const fits = { ...TEXT, bytes: Buffer.alloc(990, 'd') }
      assert.equal((await upload(api, token, fits)).status, 201)
    })
  })
