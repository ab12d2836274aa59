import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { describe, type TestContext, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { bucketOnS3, type S3Bucket, s3Missing } from '../../../test/servers/s3.ts'
import {
  activateObject,
  bothEngines,
  sharedStorage,
  startStorage,
  type TestStorage,
  temporaryFolder,
  upload,
} from './start-storage.ts'
import { startGate } from './store-gate.ts'

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Bucket) : await bucketOnS3()

const SONG = Buffer.concat([sampleFiles.mp3, randomBytes(20_000_000)])
const song = { name: 'song.mp3', type: 'audio/mpeg', bytes: SONG }

for (const engine of bothEngines)
  describe(`races, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)
    const start = async (t: TestContext, env: Record<string, string> = {}) =>
      startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t), ...env })

    test('delete while downloading from LOCAL: the download is complete or fails', async () =>
      deleteWhileDownloading(await newcomer()))

    test('delete while downloading from OBJECT: the same', { skip: noS3 }, async (t) => {
      const service = await start(t)
      await activateObject(service, s3.settings)

      await deleteWhileDownloading(service)
    })

    test('two deletes at once: one 204, one 404', async () => {
      const { api, user } = await newcomer()
      for (let round = 0; round < 5; round++) {
        const { body } = await upload(api, user)
        const remove = () => api.delete(`/file/${body.id}`, { token: user })

        const replies = await Promise.all([remove(), remove()])

        assert.deepEqual(replies.map(({ status }) => status).sort(), [204, 404])
      }
    })

    test('a delete and a restore at once: the delete is 204 and the file is gone', async () => {
      const { api, user } = await newcomer()
      for (let round = 0; round < 10; round++) {
        const { body } = await upload(api, user)
        await api.delete(`/file/${body.id}?restorable=true`, { token: user })

        const [restored, deleted] = await Promise.all([
          api.post(`/file/${body.id}/restore`, undefined, { token: user }),
          api.delete(`/file/${body.id}`, { token: user }),
        ])

        const { status } = await api.get(`/file/info/${body.id}`, { token: user })
        assert.deepEqual([deleted.status, status], [204, 404], `restored: ${restored.status}`)
      }
    })

    test('a delete removes a file that is restored between its steps', {
      skip: noS3,
    }, async (t) => {
      const service = await start(t)
      const { api, user } = service
      const gate = await startGate(t, s3.settings)
      await activateObject(service, gate.settings)
      const { body } = await upload(api, user)
      await api.delete(`/file/${body.id}?restorable=true`, { token: user })
      let restored: Promise<number> | undefined
      // The delete asks the store about the restorable file before it claims it.
      gate.let(async ({ method }) => {
        if (method === 'HEAD') restored ??= restore()
        await restored
        return true
      })
      const restore = async () =>
        (await api.post(`/file/${body.id}/restore`, undefined, { token: user })).status

      const deleted = await api.delete(`/file/${body.id}`, { token: user })

      assert.equal(await restored, 200)
      assert.equal(deleted.status, 204)
      assert.equal((await api.get(`/file/info/${body.id}`, { token: user })).status, 404)
    })

    test('a link while its file is deleted: 200 or 404', async () => {
      const { api, user } = await newcomer()
      for (let round = 0; round < 20; round++) {
        const { body } = await upload(api, user)
        const link = { id: body.id, expiresInSeconds: 60 }

        const [linked] = await Promise.all([
          api.post('/file/generate-pre-signed-url', link, { token: user }),
          api.delete(`/file/${body.id}`, { token: user }),
        ])

        assert.ok([200, 404].includes(linked.status), `${linked.status}`)
      }
    })

    test('activation during uploads: every file can be read', {
      skip: noS3,
    }, async (t) => {
      const { api, user, admin } = await start(t)
      await api.put('/api/storage/config/object', s3.settings, { token: admin })

      const uploads = Array.from({ length: 30 }, () => upload(api, user))
      const provider = { provider: 'OBJECT' }
      const activated = await api.put('/api/storage/provider', provider, { token: admin })
      const later = await upload(api, user)
      const replies = await Promise.all(uploads)

      assert.equal(activated.status, 200)
      assert.equal(later.body.provider, 'OBJECT')
      for (const { status, body } of replies) {
        assert.equal(status, 201)
        const read = await api.get(`/file/stream/${body.id}`, { token: user })
        assert.ok(read.bytes.equals(sampleFiles.png))
      }
    })

    test('an activation applies to another node as well', { skip: noS3 }, async (t) => {
      const first = await start(t, { SUITE_DATA: await temporaryFolder(t) })
      const second = await startStorage(t, first.env)

      await activateObject(first, s3.settings)

      assert.equal((await upload(second.api, second.user)).body.provider, 'OBJECT')
    })

    test('many concurrent uploads, thumbnails, lists and deletes leave rows and objects consistent', async () => {
      const service = await newcomer()
      const { api, user } = service
      const before = await filesOf(service)
      const live = async (turn: number) => {
        const { body } = await upload(api, user)
        const thumbnail = api.get(`/file/thumbnail/${body.id}`, { token: user })
        const list = await api.get('/file/list', { token: user })
        assert.ok(list.body.every(({ size }: { size: number }) => size === sampleFiles.png.length))
        if (turn % 3 > 0) await api.delete(`/file/${body.id}`, { token: user })
        await thumbnail
      }

      await Promise.all(Array.from({ length: 30 }, (_, turn) => live(turn)))

      const page = await api.get('/file/list?page=0&size=100', { token: user })
      assert.equal(page.body.length, 10)
      assert.equal(page.headers.get('x-total-count'), '10')
      const made = (await filesOf(service)).filter((name) => !before.includes(name))
      assert.equal(made.filter((name) => name.endsWith('.png')).length, 10)
      assert.equal(made.filter((name) => name.endsWith('.thumbnail.jpg')).length, 10)
      assert.equal(made.length, 20)
    })

    test('a thumbnail made while its file is deleted leaves nothing behind', async () => {
      const service = await newcomer()
      const { api, user } = service
      const before = await filesOf(service)
      for (let round = 0; round < 10; round++) {
        const { body } = await upload(api, user)

        await Promise.all([
          api.get(`/file/thumbnail/${body.id}`, { token: user }),
          api.delete(`/file/${body.id}`, { token: user }),
        ])
      }

      assert.deepEqual(await filesOf(service), before)
    })
  })

async function deleteWhileDownloading({ api, baseUrl, user }: TestStorage): Promise<void> {
  const { body } = await upload(api, user, song)
  const headers = { authorization: `Bearer ${user}` }
  const download = await fetch(`${baseUrl}/file/download/${body.id}`, { headers })

  const deleted = await api.delete(`/file/${body.id}`, { token: user })

  const bytes = await download.arrayBuffer().then(Buffer.from, () => undefined)
  assert.equal(deleted.status, 204)
  assert.ok(bytes === undefined || bytes.equals(SONG))
  assert.equal((await api.get(`/file/info/${body.id}`, { token: user })).status, 404)
}

/** Every file in the store and in the spool folder. */
async function filesOf({ root }: TestStorage): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.map(({ name }) => name).sort()
}
