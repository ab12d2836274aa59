import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import {
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3'
import { type ApiReply, sampleFiles } from '@plinth/kit/testing'
import sharp from 'sharp'
import { type S3Server, type S3Settings, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import { until } from '../../../test/until.ts'
import { activateObject, engines, sharedStorage, startStorage, upload } from './start-storage.ts'

const NAMED_MS = 4_000
const IMPATIENT = { STORAGE_FULL_OBJECT_TIMEOUT_SECONDS: `${NAMED_MS / 1000}` }

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Server) : await startS3({ after })

/** Incompressible, so that it takes a while to arrive. */
const photograph = noS3 ? Buffer.alloc(0) : await noisyPicture()

for (const engine of engines)
  describe(`while the object store is down, on ${engine.name}`, {
    ...engine.options,
    skip: engine.skip || noS3,
  }, () => {
    const { service, newcomer } = sharedStorage(engine, IMPATIENT)
    let local: { id: number }
    before(async () => {
      local = (await upload(service().api, service().user)).body
      await activateObject(service(), s3.settings)
    })

    test('uploads get 503 without a fallback, LOCAL files stay readable, and it recovers', async () => {
      const { api, user, admin, root } = service()
      const { body: object } = await upload(api, user)
      await s3.kill()
      const get = (path: string) => api.get(path, { token: user })

      const refused = await upload(api, user)
      const unread = await get(`/file/stream/${object.id}`)
      const undeleted = await api.delete(`/file/${object.id}`, { token: user })
      const unshown = await get(`/file/thumbnail/${object.id}`)
      const fine = await get(`/file/stream/${local.id}`)
      const info = await get(`/file/info/${object.id}`)
      const status = await api.get('/api/storage/status', { token: admin })
      const listed = await get('/file/list')
      await s3.restart()
      const again = await get(`/file/stream/${object.id}`)

      for (const reply of [refused, unread, undeleted, unshown]) {
        assert.deepEqual([reply.status, reply.body.code], [503, 'STORAGE_UNAVAILABLE'])
        assert.doesNotMatch(JSON.stringify(reply.body), /127\.0\.0\.1|testing-secret|tester/)
      }
      assert.deepEqual([fine.status, info.status], [200, 200])
      assert.equal(status.body.activeProvider, 'OBJECT')
      assert.equal(status.body.available, false)
      assert.equal(status.body.providers.LOCAL.available, true)
      assert.deepEqual(
        listed.body.map(({ id }: { id: number }) => id),
        [object.id, local.id],
      )
      assert.ok(again.bytes.equals(sampleFiles.png))
      assert.deepEqual(await spooled(root), [])
      assert.equal((await upload(api, user)).status, 201)
    })

    test('and stalls in the middle of an object: its thumbnail is 503, not 500', async () => {
      const { api, user, root } = await newcomer()
      const { body } = await upload(api, user, { bytes: photograph })
      const asking = api.get(`/file/thumbnail/${body.id}`, { token: user })
      await arriving(root)
      s3.pause()

      const reply = await asking
      s3.resume()

      assert.deepEqual([reply.status, reply.body.code], [503, 'STORAGE_UNAVAILABLE'])
      const again = await api.get(`/file/thumbnail/${body.id}`, { token: user })
      assert.equal(again.headers.get('content-type'), 'image/jpeg')
    })

    test('and hangs: an upload is answered 503 in time, and other requests are not blocked', async () => {
      const { api, user } = await newcomer()
      s3.pause()

      const uploading = upload(api, user)
      const listed = await api.get('/file/list', { token: user })
      const refused = await uploading
      s3.resume()

      assert.equal(listed.status, 200)
      assert.equal(refused.status, 503)
      assert.deepEqual((await api.get('/file/list', { token: user })).body, [])
    })

    test('and hangs: no request waits longer than the named time, however often it is tried', async () => {
      const { api, user, admin } = await newcomer()
      const { body: file } = await upload(api, user)
      s3.pause()
      const timed = async (asking: Promise<ApiReply>) => {
        const begun = performance.now()
        const { status } = await asking
        return { status, inTime: performance.now() - begun < 1.5 * NAMED_MS }
      }

      const replies = await Promise.all([
        timed(api.get(`/file/download/${file.id}`, { token: user })),
        timed(api.get(`/file/thumbnail/${file.id}`, { token: user })),
        timed(api.delete(`/file/${file.id}`, { token: user })),
        timed(api.get('/api/storage/status', { token: admin })),
      ])
      s3.resume()

      const refused = { status: 503, inTime: true }
      assert.deepEqual(replies, [refused, refused, refused, { status: 200, inTime: true }])
    })

    test('and has lost its bucket: a file cannot be deleted, and stays in the list', async (t) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const own = await startS3(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
      const { api, user } = service
      await activateObject(service, own.settings)
      const { body: file } = await upload(api, user)
      await removeBucket(own.settings)

      const reply = await api.delete(`/file/${file.id}`, { token: user })

      assert.deepEqual([reply.status, reply.body.code], [503, 'STORAGE_UNAVAILABLE'])
      assert.deepEqual((await api.get('/file/list', { token: user })).body, [file])
    })
  })

test('readers who disconnect release their connection to the object store', {
  skip: noS3,
}, async (t) => {
  const service = await startStorage(t)
  const { api, baseUrl, user } = service
  await activateObject(service, s3.settings)
  const { body } = await upload(api, user, { bytes: photograph })
  const headers = { authorization: `Bearer ${user}` }

  for (let reader = 0; reader < 10; reader++) {
    const leaving = new AbortController()
    const { signal } = leaving
    await fetch(`${baseUrl}/file/download/${body.id}`, { headers, signal })
    leaving.abort()
  }

  await until(() => socketsTo(s3.settings.endpoint) <= 1, Boolean, 1)
  const again = await api.get(`/file/download/${body.id}`, { token: user })
  assert.ok(again.bytes.equals(photograph))
})

async function removeBucket({ bucket: Bucket, accessKey, secretKey, ...settings }: S3Settings) {
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey }
  const client = new S3Client({ ...settings, forcePathStyle: true, credentials })
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }))
  for (const { Key } of Contents) await client.send(new DeleteObjectCommand({ Bucket, Key }))
  await client.send(new DeleteBucketCommand({ Bucket }))
  client.destroy()
}

/** Connections of this process, in which the service runs, to the object store. */
function socketsTo(endpoint: string): number {
  const { _getActiveHandles } = process as unknown as { _getActiveHandles(): unknown[] }
  const sockets = _getActiveHandles().filter((handle) => handle instanceof Socket)
  return sockets.filter(({ remotePort }) => remotePort === Number(new URL(endpoint).port)).length
}

/** Waits until the copy of the object has begun to arrive in the spool folder. */
async function arriving(root: string): Promise<void> {
  while ((await spooled(root)).length === 0);
}

async function spooled(root: string): Promise<string[]> {
  const names = await readdir(`${root}/.incoming`, { recursive: true })
  return names.filter((name) => name.endsWith('.part'))
}

function noisyPicture(): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const
  const create = { width: 4000, height: 4000, channels: 3, background: '#888', noise } as const
  return sharp({ create }).png({ compressionLevel: 0 }).toBuffer()
}
