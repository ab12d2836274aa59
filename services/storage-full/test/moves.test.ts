import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { sampleFiles, testClock } from '@plinth/kit/testing'
import { bucketOnS3, type S3Bucket, s3Missing } from '../../../test/servers/s3.ts'
import { until } from '../../../test/until.ts'
import { replace, TEXT } from './replace-file.ts'
import { engines, startStorage, type TestStorage, upload } from './start-storage.ts'
import { startGate } from './store-gate.ts'

const PLINTH = join(import.meta.dirname, '../../../cli/main.js')

type EventItem = { type: string; sequence: number; data: { provider: string } }

const [OLD, NEW] = [Buffer.from('old'), Buffer.from('new content')]

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Bucket) : await bucketOnS3()

for (const engine of engines)
  describe(`moving files, on ${engine.name}`, {
    ...engine.options,
    skip: engine.skip || noS3,
  }, () => {
    const start = async (t: TestContext) => {
      const url = await engine.freshUrl(t)
      const env = { STORAGE_FULL_DATABASE_URL: url }
      const service = await startStorage(t, env, testClock(), { delivers: true })
      const { api, admin } = service
      await api.put('/api/storage/config/object', s3.settings, { token: admin })
      return service
    }

    test('moves every file there and back, and each stays readable all the time', async (t) => {
      const service = await start(t)
      const { api, user, admin } = service
      for (let count = 0; count < 8; count++) await upload(api, user)
      await api.get('/file/thumbnail/1', { token: user })
      const reading = readUntilMoved(service)

      const started = await api.post('/api/storage/moves', { to: 'OBJECT' }, { token: admin })
      const moved = await finished(service, started.body.id)

      assert.equal(started.status, 202)
      assert.equal(started.headers.get('location'), `/api/storage/moves/${started.body.id}`)
      assert.deepEqual([moved.state, moved.total, moved.moved, moved.failed], ['DONE', 8, 8, 0])
      assert.equal(moved.movedBytes, 8 * sampleFiles.png.length)
      assert.deepEqual(await providersOf(service), new Set(['OBJECT']))
      assert.deepEqual(await localObjects(service), [])
      const thumbnail = await api.get('/file/thumbnail/1', { token: user })
      assert.equal(thumbnail.headers.get('content-type'), 'image/jpeg')

      const back = await api.post('/api/storage/moves', { to: 'LOCAL' }, { token: admin })
      assert.equal((await finished(service, back.body.id)).state, 'DONE')
      const { reads, failures } = await reading.stop()
      assert.ok(reads > 0)
      assert.deepEqual(failures, [])
      assert.deepEqual(await providersOf(service), new Set(['LOCAL']))
      assert.equal((await localObjects(service)).length, 8)
      const { body: list } = await api.get('/api/storage/moves', { token: admin })
      assert.deepEqual(
        list.map(({ to }: { to: string }) => to),
        ['LOCAL', 'OBJECT'],
      )
      const published = await until<{ items: EventItem[] }>(
        async () => (await api.get('/api/events?subject=file:1', { token: admin })).body,
        ({ items }) => items.length === 3,
      )
      assert.deepEqual(
        published.items.map(({ type, sequence, data }) => [type, sequence, data.provider]),
        [
          ['file.uploaded', 1, 'LOCAL'],
          ['file.moved', 2, 'OBJECT'],
          ['file.moved', 3, 'LOCAL'],
        ],
      )
    })

    test('also moves a restorable file, but publishes no event about it', async (t) => {
      const service = await start(t)
      const { api, user, admin } = service
      const { body: file } = await upload(api, user)
      await api.delete(`/file/${file.id}?restorable=true`, { token: user })

      const started = await api.post('/api/storage/moves', { to: 'OBJECT' }, { token: admin })
      const moved = await finished(service, started.body.id)
      const restored = await api.post(`/file/${file.id}/restore`, undefined, { token: user })

      assert.deepEqual([moved.total, moved.moved, moved.failed], [1, 1, 0])
      assert.deepEqual(restored.body, { ...file, provider: 'OBJECT' })
      assert.deepEqual(await localObjects(service), [])
      const { bytes } = await api.get(`/file/stream/${file.id}`, { token: user })
      assert.ok(bytes.equals(sampleFiles.png))
      const published = await until<{ items: EventItem[] }>(
        async () => (await api.get(`/api/events?subject=file:${file.id}`, { token: admin })).body,
        ({ items }) => items.length === 3,
      )
      assert.deepEqual(
        published.items.map(({ type, data }) => [type, data.provider]),
        [
          ['file.uploaded', 'LOCAL'],
          ['file.deleted', 'LOCAL'],
          ['file.restored', 'OBJECT'],
        ],
      )
    })

    test('tests the location that files would go to, not the saved settings', async (t) => {
      const { api, admin, root } = await start(t)
      await writeFile(`${root}/not-a-folder`, '')
      const saved = { path: 'not-a-folder' }
      await api.put('/api/storage/config/local', saved, { token: admin })

      const reply = await api.post('/api/storage/moves', { to: 'LOCAL' }, { token: admin })

      assert.equal(reply.status, 202)
    })

    test('leaves a damaged file where it is, says so, and moves the others', async (t) => {
      const service = await start(t)
      const { api, user, admin, root } = service
      await upload(api, user)
      const { body: damaged } = await upload(api, user)
      const [name = ''] = (await localObjects(service)).filter((path) =>
        path.includes(damaged.storedFilename),
      )
      await appendFile(`${root}/files/${name}`, 'x')

      const { body } = await api.post('/api/storage/moves', { to: 'OBJECT' }, { token: admin })
      const move = await finished(service, body.id)

      assert.deepEqual([move.state, move.moved, move.failed], ['DONE', 1, 1])
      assert.match(move.lastError, /File 2: .*checksum/)
      assert.deepEqual(await providersOf(service), new Set(['OBJECT', 'LOCAL']))
    })

    test('refuses an unknown and a failing provider', async (t) => {
      const { api, admin } = await start(t)
      const post = (to: unknown) => api.post('/api/storage/moves', { to }, { token: admin })
      const wrong = { ...s3.settings, secretKey: 'wrong' }

      assert.equal((await post('FTP')).status, 400)
      await api.put('/api/storage/config/object', wrong, { token: admin })
      assert.equal((await post('OBJECT')).status, 503)
      assert.equal((await api.get('/api/storage/moves/1', { token: admin })).status, 404)
    })

    test('refuses a second move while one is running', async (t) => {
      const service = await start(t)
      const { api, user, admin } = service
      const post = (to: string) => api.post('/api/storage/moves', { to }, { token: admin })
      const gate = await startGate(t, s3.settings)
      await api.put('/api/storage/config/object', gate.settings, { token: admin })
      await upload(api, user)
      const refused = Promise.withResolvers<boolean>()
      gate.let(() => refused.promise)

      const first = await post('OBJECT')
      const second = await post('LOCAL')
      refused.resolve(true)
      await finished(service, first.body.id)

      assert.deepEqual([first.status, second.status], [202, 409])
      assert.equal(second.body.code, 'MOVE_UNDER_WAY')
    })

    test('a move that is cancelled stops, is in the audit, and leaves every file readable', async (t) => {
      const service = await start(t)
      const { api, user, admin } = service
      const gate = await startGate(t, s3.settings)
      await api.put('/api/storage/config/object', gate.settings, { token: admin })
      for (let count = 0; count < 5; count++) await upload(api, user)
      const { promise: ended, resolve: end } = Promise.withResolvers<boolean>()
      gate.let(({ method }) => method !== 'PUT' || ended)
      const { body } = await api.post('/api/storage/moves', { to: 'OBJECT' }, { token: admin })

      const cancelled = await api.delete(`/api/storage/moves/${body.id}`, { token: admin })
      end(true)

      assert.deepEqual([cancelled.status, cancelled.body.state], [200, 'CANCELLED'])
      const { body: audit } = await api.get('/api/audit?event=MOVE_CANCELLED', { token: admin })
      assert.deepEqual(
        audit.content.map(({ actor, subject }: Record<string, string>) => [actor, subject]),
        [['admin', `move ${body.id}`]],
      )
      for (let id = 1; id <= 5; id++) {
        const reply = await api.get(`/file/download/${id}`, { token: user })
        assert.ok(reply.bytes.equals(sampleFiles.png))
      }
    })

    test('files move --to OBJECT does the same beside a running service', async (t) => {
      const service = await start(t)
      for (let count = 0; count < 3; count++) await upload(service.api, service.user)

      const options = { cwd: service.folder, env: { PATH: process.env.PATH, ...service.env } }
      const words = [PLINTH, 'files', 'move', '--to', 'OBJECT']
      const { stdout } = await promisify(execFile)(process.execPath, words, options)

      assert.match(stdout, /3 of 3 files moved, 0 failed\.\n$/)
      assert.deepEqual(await providersOf(service), new Set(['OBJECT']))
    })

    test('a file replaced while it is copied, or before its turn, is moved with its new content; one deleted then is left out', async (t) => {
      const service = await start(t)
      const { api, user, admin } = service
      const gate = await startGate(t, s3.settings)
      await api.put('/api/storage/config/object', gate.settings, { token: admin })
      const before = await bucketObjects()
      for (let count = 0; count < 4; count++) await upload(api, user, { ...TEXT, bytes: OLD })
      // The first file is copied, then again with its new content, then the second and the fourth.
      const meanwhile = [
        async () => {
          for (const id of [1, 2]) await replace(api, user, id, { bytes: NEW })
          await api.delete('/file/3', { token: user })
        },
        undefined,
        undefined,
        () => api.delete('/file/4', { token: user }),
      ].values()
      gate.onAnswer(async ({ method }) => {
        if (method === 'PUT') await meanwhile.next().value?.()
      })

      const { body } = await api.post('/api/storage/moves', { to: 'OBJECT' }, { token: admin })
      const move = await finished(service, body.id)

      assert.deepEqual([move.state, move.total, move.moved, move.failed], ['DONE', 4, 2, 0])
      assert.deepEqual(await providersOf(service), new Set(['OBJECT']))
      for (const id of [1, 2]) {
        const { bytes } = await api.get(`/file/stream/${id}`, { token: user })
        assert.ok(bytes.equals(NEW))
      }
      assert.deepEqual(await localObjects(service, '.txt'), [])
      assert.equal((await bucketObjects()).length, before.length + 2)
    })

    test('a file deleted while it is moved is gone on both sides', async (t) => {
      const service = await start(t)
      const { api, user, admin } = service
      const before = await bucketObjects()
      for (let count = 0; count < 6; count++) await upload(api, user)

      const { body } = await api.post('/api/storage/moves', { to: 'OBJECT' }, { token: admin })
      const deletions = [1, 2, 3, 4, 5, 6].map((id) => api.delete(`/file/${id}`, { token: user }))
      const statuses = (await Promise.all(deletions)).map(({ status }) => status)
      const move = await finished(service, body.id)

      assert.deepEqual(new Set(statuses), new Set([204]))
      assert.deepEqual([move.state, move.failed], ['DONE', 0])
      assert.deepEqual(await localObjects(service), [])
      assert.deepEqual(await bucketObjects(), before)
      assert.deepEqual((await api.get('/file/list', { token: user })).body, [])
    })
  })

async function finished({ api, admin }: TestStorage, id: number) {
  while (true) {
    const { body } = await api.get(`/api/storage/moves/${id}`, { token: admin })
    if (body.state !== 'RUNNING') return body
  }
}

/** Keeps downloading while the files are moved. */
function readUntilMoved({ api, user }: TestStorage) {
  let going = true
  let reads = 0
  const failures: string[] = []
  const loop = (async () => {
    while (going) {
      const { status, bytes } = await api.get(`/file/stream/${1 + (reads % 8)}`, { token: user })
      reads += 1
      if (status !== 200 || !bytes.equals(sampleFiles.png)) failures.push(`${status}`)
    }
  })()
  return {
    async stop() {
      going = false
      await loop
      return { reads, failures }
    },
  }
}

async function providersOf({ api, user }: TestStorage): Promise<Set<string>> {
  const { body } = await api.get('/file/list', { token: user })
  return new Set(body.map(({ provider }: { provider: string }) => provider))
}

async function localObjects({ root }: TestStorage, extension = '.png'): Promise<string[]> {
  const names = await readdir(`${root}/files`, { recursive: true })
  return names.filter((name) => name.endsWith(extension))
}

async function bucketObjects(): Promise<(string | undefined)[]> {
  const { accessKey: accessKeyId, secretKey: secretAccessKey, bucket, ...settings } = s3.settings
  const credentials = { accessKeyId, secretAccessKey }
  const client = new S3Client({ ...settings, forcePathStyle: true, credentials })
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }))
  client.destroy()
  return Contents.map(({ Key }) => Key)
}
