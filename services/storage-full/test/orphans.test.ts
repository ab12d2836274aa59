import assert from 'node:assert/strict'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit'
import { testClock } from '@plinth/kit/testing'
import { openStorage, storageFullData } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { sweep } from '../src/upkeep/sweep.ts'
import { engines, startStorage, storageEnv, temporaryFolder, upload } from './start-storage.ts'

for (const engine of engines)
  describe(`objects without a file, on ${engine.name}`, engine.options, () => {
    test('are never removed when they are seen for the first time', async (t) => {
      const { storage } = await withOrphan(t, engine, 'unfinished.png')

      const removed = [await sweep(storage), await sweep(storage), await sweep(storage)]

      assert.deepEqual(removed, [0, 1, 0])
    })

    test('are not removed while a backup is reading: its database may still name them', async (t) => {
      const { storage, config } = await withOrphan(t, engine, 'moved-away.png')
      const files = await storageFullData(config).files('backup')
      await files.hold()

      const during = [await sweep(storage), await sweep(storage), await sweep(storage)]
      await files.close()

      assert.deepEqual([...during, await sweep(storage)], [0, 0, 0, 1])
    })

    test('may disappear during a backup; the object of a file may not', async (t) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const { api, user, config, root } = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
      await upload(api, user)
      const [prefix = ''] = await readdir(join(root, 'files'))
      const folder = join(root, 'files', prefix)
      await writeFile(join(folder, 'unfinished.png'), 'x')
      const files = await storageFullData(config).files('backup')
      t.after(files.close)
      await files.hold()

      const names = (await Array.fromAsync(files.list())).map(({ name }) => name)
      for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true })

      const [orphan = '', stored = ''] = names.toSorted((one) =>
        one.includes('unfinished') ? -1 : 1,
      )
      assert.equal(names.length, 2)
      assert.equal(await files.open(orphan), undefined)
      await assert.rejects(files.open(stored), /The object of .* is gone/)
    })
  })

test('in production an object without a file is kept for at least an hour', () => {
  const given = (seconds: string) => () =>
    loadConfig({ NODE_ENV: 'production', STORAGE_FULL_ORPHAN_AGE_SECONDS: seconds })

  assert.throws(given('3599'), /STORAGE_FULL_ORPHAN_AGE_SECONDS/)
  assert.throws(given('3600'), (error: Error) => !/ORPHAN_AGE/.test(error.message))
})

/** A storage that removes orphans at any age, with one that it has not seen yet. */
async function withOrphan(t: TestContext, engine: (typeof engines)[number], name: string) {
  const env = storageEnv(await temporaryFolder(t), await engine.freshUrl(t))
  const config = loadConfig({ ...env, STORAGE_FULL_ORPHAN_AGE_SECONDS: '0' })
  const log = createLogger('sweeper', 'silent')
  const { storage, database } = await openStorage(config, { clock: testClock(), log })
  t.after(() => database.close())
  const [prefix = ''] = await readdir(join(config.root, 'files'))
  await writeFile(join(config.root, 'files', prefix, name), 'x')
  return { storage, config }
}
