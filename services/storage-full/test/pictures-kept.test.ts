import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { armFailPoint } from '@plinth/kit/runtime'
import sharp from 'sharp'
import { plinthHere } from '../../../cli/test/run-plinth.ts'
import { bucketOnS3, type S3Bucket, s3Missing } from '../../../test/servers/s3.ts'
import { openStorage, storageFullData } from '../src/app.ts'
import { forgetStale } from '../src/pictures/kept-beside.ts'
import { finishDeletions, sweep } from '../src/upkeep/sweep.ts'
import { verifyFiles } from '../src/upkeep/verify.ts'
import { activateObject, engines, moveAll, startStorage, upload } from './start-storage.ts'

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Bucket) : await bucketOnS3()

const photo = sharp({ create: { width: 300, height: 200, channels: 3, background: '#a33' } })
  .png()
  .toBuffer()

for (const engine of engines)
  describe(`where renditions are kept, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext) => {
      const url = await engine.freshUrl(t)
      const service = await startStorage(t, {
        STORAGE_FULL_DATABASE_URL: url,
        STORAGE_FULL_ORPHAN_AGE_SECONDS: '0',
      })
      const { config, clock } = service
      const log = createLogger('pictures', 'silent')
      const { storage, database } = await openStorage(config, { clock, log })
      t.after(async () => {
        storage.providers.close()
        await database.close()
      })
      return { ...service, service, storage, ...using(service, storage) }
    }

    type Service = Awaited<ReturnType<typeof startStorage>>
    type Opened = Awaited<ReturnType<typeof openStorage>>['storage']

    const using = ({ api, user, root }: Service, storage: Opened) => ({
      uploaded: async () => (await upload(api, user, { bytes: await photo })).body,
      ask: (id: number, query = 'width=64', headers: Record<string, string> = {}) =>
        api.request('GET', `/file/picture/${id}?${query}`, { token: user, headers }),
      onDisk: async () =>
        (await readdir(root, { recursive: true })).filter((name) => name.includes('.picture-')),
      rows: () => storage.db.selectFrom('renditions').selectAll().execute(),
      findings: async () => new Set(await Array.fromAsync(verifyFiles(storage))),
    })

    test('verify and sweep leave recorded renditions alone', async (t) => {
      const { storage, uploaded, ask, onDisk, findings } = await start(t)
      await ask((await uploaded()).id)

      const swept = [await sweep(storage), await sweep(storage)]

      assert.deepEqual(await findings(), new Set(['sound']))
      assert.ok(swept.every(({ removed }) => removed === 0))
      assert.equal((await onDisk()).length, 1)
    })

    test('a rendition that could not be recorded is sent all the same, and swept later', async (t) => {
      const { storage, uploaded, ask, onDisk } = await start(t)
      armFailPoint({ NODE_ENV: 'test', FAIL_POINT: 'picture:put=error' })
      t.after(() => armFailPoint({}))

      const sent = await ask((await uploaded()).id)
      armFailPoint({})
      const left = await onDisk()
      await sweep(storage)
      await sweep(storage)

      assert.deepEqual([sent.status, left.length], [200, 1])
      assert.deepEqual(await onDisk(), [])
    })

    test('a restorable file keeps its renditions until its bytes go', async (t) => {
      const { api, user, storage, clock, uploaded, ask, onDisk, rows } = await start(t)
      const { id } = await uploaded()
      await ask(id)

      await api.delete(`/file/${id}?restorable=true`, { token: user })
      const hidden = await ask(id)
      const meanwhile = (await onDisk()).length
      clock.advance(31_536_000)
      await finishDeletions(storage)

      assert.deepEqual([hidden.status, meanwhile], [404, 1])
      assert.deepEqual([await onDisk(), await rows()], [[], []])
    })

    test('drawing and deleting at the same time leaves nothing behind', async (t) => {
      const { api, user, uploaded, ask, onDisk, rows } = await start(t)
      for (let round = 0; round < 8; round += 1) {
        const { id } = await uploaded()
        const drawing = ['width=64', 'width=128', 'width=256'].map((query) => ask(id, query))
        if (round % 2 === 1) await Promise.race(drawing)
        const deleted = await api.delete(`/file/${id}`, { token: user })
        const statuses = (await Promise.all(drawing)).map(({ status }) => status)

        assert.equal(deleted.status, 204)
        assert.ok(
          statuses.every((status) => [200, 404].includes(status)),
          String(statuses),
        )
      }

      assert.deepEqual([await onDisk(), await rows()], [[], []])
    })

    test('what is known of an object that no file has any more is forgotten', async (t) => {
      const { storage, uploaded, ask, onDisk, rows } = await start(t)
      const { id } = await uploaded()
      await ask(id)
      await storage.db.updateTable('files').set({ object_name: 'other.png' }).execute()

      await forgetStale(storage, new AbortController().signal)

      assert.deepEqual([await onDisk(), await rows()], [[], []])
    })

    test('a backup has no renditions, neither bytes nor rows', async (t) => {
      const { config, uploaded, ask } = await start(t)
      const file = await uploaded()
      await ask(file.id)
      const data = storageFullData(config)

      const files = await data.files('backup')
      const listed = await Array.fromAsync(files.list())
      await files.close()

      assert.deepEqual(
        listed.map(({ name }) => name.split('/').at(-1)),
        [file.storedFilename],
      )
      assert.ok(['pictures', 'renditions'].every((table) => data.database.derived.includes(table)))
    })

    test('plinth files pictures clear removes all of them, and they are made again', async (t) => {
      const { env, uploaded, ask, onDisk, rows } = await start(t)
      const { id } = await uploaded()
      const before = await ask(id)
      await ask(id, 'width=128')

      const cleared = await plinthHere(['files', 'pictures', 'clear', '--json'], { env })

      const { removed, bytes } = JSON.parse(cleared.stdout)
      assert.deepEqual([cleared.code, removed, bytes > 0], [0, 2, true])
      assert.deepEqual([await onDisk(), await rows()], [[], []])
      assert.deepEqual((await ask(id)).bytes, before.bytes)
    })

    test('in a bucket they are beside the object too, read from there, and gone with it', {
      skip: noS3,
    }, async (t) => {
      const { api, user, service, uploaded, ask, onDisk, rows, findings } = await start(t)
      await activateObject(service, s3.settings)
      const { id } = await uploaded()
      const first = await ask(id)
      armFailPoint({ NODE_ENV: 'test', FAIL_POINT: 'picture:read=error' })
      t.after(() => armFailPoint({}))

      const kept = await ask(id)
      const part = await ask(id, 'width=64', { range: 'bytes=3-9' })
      armFailPoint({})

      assert.ok(kept.bytes.equals(first.bytes))
      assert.ok(part.bytes.equals(first.bytes.subarray(3, 10)))
      assert.deepEqual(await onDisk(), [])
      assert.deepEqual(await findings(), new Set(['sound']))
      await api.delete(`/file/${id}`, { token: user })
      assert.deepEqual([await rows(), await findings()], [[], new Set()])
    })

    test('a move leaves them behind: they are removed, and made again at the new place', {
      skip: noS3,
    }, async (t) => {
      const { api, admin, service, uploaded, ask, onDisk, rows, findings } = await start(t)
      const { id } = await uploaded()
      const before = await ask(id)
      await api.put('/api/storage/config/object', s3.settings, { token: admin })

      const { moved } = await moveAll(service, 'OBJECT')

      assert.equal(moved, 1)
      assert.deepEqual([await onDisk(), await rows()], [[], []])
      assert.deepEqual((await ask(id)).bytes, before.bytes)
      assert.deepEqual([(await rows()).length, await findings()], [1, new Set(['sound'])])
    })
  })
