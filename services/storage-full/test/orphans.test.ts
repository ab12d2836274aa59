import assert from 'node:assert/strict'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { testClock } from '@plinth/kit/testing'
import { bucketOnS3, type S3Bucket, s3Missing } from '../../../test/servers/s3.ts'
import { openStorage, storageFullData } from '../src/app.ts'
import { loadConfig, type StorageFullConfig } from '../src/config.ts'
import { sweep } from '../src/upkeep/sweep.ts'
import {
  activateObject,
  engines,
  startStorage,
  storageEnv,
  temporaryFolder,
  upload,
} from './start-storage.ts'
import { startGate } from './store-gate.ts'

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Bucket) : await bucketOnS3()

for (const engine of engines)
  describe(`objects without a file, on ${engine.name}`, engine.options, () => {
    test('are never removed when they are seen for the first time', async (t) => {
      const { storage } = await withOrphan(t, engine, 'unfinished.png')

      const swept = [await sweep(storage), await sweep(storage), await sweep(storage)]

      assert.deepEqual(
        swept.map(({ removed }) => removed),
        [0, 1, 0],
      )
    })

    test('are not removed while a backup is reading: its database may still name them', async (t) => {
      const { storage, config } = await withOrphan(t, engine, 'moved-away.png')
      const files = await storageFullData(config).files('backup')
      await files.hold()

      const during = [await sweep(storage), await sweep(storage), await sweep(storage)]
      await files.close()

      const removed = [...during, await sweep(storage)].map(({ removed }) => removed)
      assert.deepEqual(removed, [0, 0, 0, 1])
    })

    test('that cannot be removed do not keep the others, and are reported', {
      skip: noS3,
    }, async (t) => {
      const gate = await startGate(t, s3.settings)
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const service = await startStorage(t, {
        STORAGE_FULL_DATABASE_URL,
        STORAGE_FULL_ORPHAN_AGE_SECONDS: '0',
      })
      await activateObject(service, gate.settings)
      for (let count = 0; count < 3; count++) await upload(service.api, service.user)
      const { storage, logged } = await reopen(t, service.config)
      await storage.db.deleteFrom('files').execute()
      await sweep(storage)
      let locked: string | undefined
      gate.let(({ method, key }) => {
        if (method === 'DELETE') locked ??= key
        return method !== 'DELETE' || key !== locked
      })

      const swept = [await sweep(storage), await sweep(storage)]
      gate.let(() => true)

      assert.deepEqual(swept, [
        { removed: 2, left: 1 },
        { removed: 0, left: 1 },
      ])
      const reports = logged().filter(
        ({ msg }) => msg === 'objects without a file could not be removed',
      )
      assert.deepEqual(
        reports.map(({ left, key }) => ({ left, key })),
        Array(2).fill({ left: 1, key: locked }),
      )
      assert.deepEqual(await sweep(storage), { removed: 1, left: 0 })
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
  const { storage } = await reopen(t, config)
  const [prefix = ''] = await readdir(join(config.root, 'files'))
  await writeFile(join(config.root, 'files', prefix, name), 'x')
  return { storage, config }
}

/** The data of a service without the service, and what the sweep logs. */
async function reopen(t: TestContext, config: StorageFullConfig) {
  const lines: string[] = []
  const written = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line))
      done()
    },
  })
  const log = createLogger('sweeper', 'warn', written)
  const { storage, database } = await openStorage(config, { clock: testClock(), log })
  t.after(async () => {
    storage.providers.close()
    await database.close()
  })
  const logged = () => lines.map((line) => JSON.parse(line))
  return { storage, logged }
}
