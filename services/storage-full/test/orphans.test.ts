import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createLogger } from '@plinth/kit'
import { engines, testClock } from '@plinth/kit/testing'
import { openStorage } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { sweep } from '../src/upkeep/sweep.ts'
import { storageEnv, temporaryFolder } from './start-storage.ts'

for (const engine of engines)
  describe(`objects without a file, on ${engine.name}`, { skip: engine.skip }, () => {
    test('are never removed when they are seen for the first time', async (t) => {
      const env = storageEnv(await temporaryFolder(t), await engine.freshUrl(t))
      const config = loadConfig({ ...env, STORAGE_FULL_ORPHAN_AGE_SECONDS: '0' })
      const log = createLogger('sweeper', 'silent')
      const { storage, database } = await openStorage(config, { clock: testClock(), log })
      t.after(() => database.close())
      const [prefix = ''] = await readdir(join(config.root, 'files'))
      await writeFile(join(config.root, 'files', prefix, 'unfinished.png'), 'x')

      const removed = [await sweep(storage), await sweep(storage), await sweep(storage)]

      assert.deepEqual(removed, [0, 1, 0])
    })
  })

test('in production an object without a file stays for an hour at least', () => {
  const given = (seconds: string) => () =>
    loadConfig({ NODE_ENV: 'production', STORAGE_FULL_ORPHAN_AGE_SECONDS: seconds })

  assert.throws(given('3599'), /STORAGE_FULL_ORPHAN_AGE_SECONDS/)
  assert.throws(given('3600'), (error: Error) => !/ORPHAN_AGE/.test(error.message))
})
