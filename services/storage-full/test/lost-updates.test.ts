import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { testClock } from '@plinth/kit/testing'
import { openStorage } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { insertLink } from '../src/files/links/links.repository.ts'
import { saveObjectConfig } from '../src/locations/configure.ts'
import { requireSettings } from '../src/locations/locations.ts'
import { BY, bothEngines, storageEnv, temporaryFolder } from './start-storage.ts'

const BUCKET = { endpoint: 'http://localhost:9', bucket: 'files', accessKey: 'a', secretKey: 's' }

for (const engine of bothEngines)
  describe(`concurrent changes, on ${engine.name}`, engine.options, () => {
    const open = async (t: TestContext) => {
      const config = loadConfig(storageEnv(await temporaryFolder(t), await engine.freshUrl(t)))
      const log = createLogger('test', 'silent')
      const { storage, database } = await openStorage(config, { clock: testClock(), log })
      t.after(() => database.close())
      return storage
    }

    test('a configuration without keys never restores keys that were just replaced', async (t) => {
      const storage = await open(t)
      await saveObjectConfig(storage, BUCKET, BY)
      for (const round of ['1', '2', '3', '4', '5']) {
        await Promise.all([
          saveObjectConfig(storage, { accessKey: round, secretKey: round }, BY),
          saveObjectConfig(storage, { region: round }, BY),
        ])

        const saved = await requireSettings(storage, 'OBJECT')
        assert.ok(saved.provider === 'OBJECT')
        const { accessKey, secretKey, region } = saved.object
        assert.deepEqual([accessKey, secretKey, region], [round, round, round])
      }
    })

    test('no link is created for a file that does not exist', async (t) => {
      const { db, clock } = await open(t)
      const now = clock()

      const link = { fileId: 1, tokenHash: 'hash', createdAt: now, expiresAt: now }

      assert.equal(await insertLink(db, link), undefined)
    })
  })
