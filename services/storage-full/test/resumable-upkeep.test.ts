import assert from 'node:assert/strict'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import type { ApiReply } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { openStorage, type Storage } from '../src/app.ts'
import { verifyFiles } from '../src/upkeep/verify.ts'
import { eraseUploads, expireUploads, sweepUploads } from '../src/uploads/expire.ts'
import { engines, logIn, startStorage, type TestStorage, upload } from './start-storage.ts'
import { fileIdOf, hangingPatch, locationOf, offsetOf, textOf, tusFor } from './tus-client.ts'

for (const engine of engines)
  describe(`resumable uploads over time, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL, ...env })
      return { ...service, tus: tusFor(service.api, service.user) }
    }

    test('what arrived of a body that was cut off counts, and the upload goes on from there', async (t) => {
      const { api, user, tus, root } = await start(t)
      const bytes = textOf(400_000)
      const location = locationOf(await tus.create({ length: bytes.length }))
      const cut = hangingPatch(api, user, {
        ...{ location, offset: 0, announced: bytes.length },
        body: bytes.subarray(0, 300_000),
      })
      await until(() => received(root), isSome)
      cut.cut()

      const offset = await until(async () => offsetOf(await tus.head(location)), isSome)
      const last = await tus.patch(location, offset, bytes.subarray(offset))

      assert.ok(offset > 0 && offset <= 300_000, String(offset))
      const content = await api.get(`/file/download/${fileIdOf(last)}`, { token: user })
      assert.ok(content.bytes.equals(bytes))
    })

    test('HEAD makes a request that hangs let go, and what that one received counts', async (t) => {
      const { api, user, tus, root } = await start(t)
      const bytes = textOf(600_000)
      const location = locationOf(await tus.create({ length: bytes.length }))
      const hanging = hangingPatch(api, user, {
        ...{ location, offset: 0, announced: bytes.length },
        body: bytes.subarray(0, 300_000),
      })
      await until(() => received(root), isSome)

      const head = await tus.head(location)
      const last = await tus.patch(location, offsetOf(head), bytes.subarray(offsetOf(head)))

      assert.equal(head.status, 200)
      assert.ok(offsetOf(head) > 0)
      assert.equal(await hanging.status, 423)
      const content = await api.get(`/file/download/${fileIdOf(last)}`, { token: user })
      assert.ok(content.bytes.equals(bytes))
    })

    test('a reply that was lost is found again: the last byte is there once, as one file', async (t) => {
      const { api, user, tus } = await start(t)
      const location = locationOf(await tus.create())

      const replies = await Promise.all([
        tus.patch(location, 0, textOf(100)),
        tus.patch(location, 0, textOf(100)),
        tus.patch(location, 0, textOf(100)),
      ])

      const head = await tus.head(location)
      const { body } = await api.get('/file/list', { token: user })
      assert.deepEqual(
        body.map(({ id }: { id: number }) => id),
        [fileIdOf(head)],
      )
      for (const { status } of replies) assert.ok([204, 409, 423].includes(status), String(status))
    })

    test('an upload expires a day after its last byte, not after its creation; then everything is freed', async (t) => {
      const { api, tus, clock, env, root } = await start(t)
      const [kept, lapsed] = [
        locationOf(await tus.create({ length: 5000, body: textOf(100) })),
        locationOf(await tus.create({ length: 5000, body: textOf(100) })),
      ]
      clock.advance(80_000)
      const later = tusFor(api, await logIn(api, 'user'))
      const more = await later.patch(kept, 100, textOf(100))
      clock.advance(10_000)
      const token = await logIn(api, 'user')
      const last = tusFor(api, token)

      const before = [await last.head(kept), await last.head(lapsed)]
      await atDesk(t, env, clock, expireUploads)

      assert.equal(more.status, 204)
      assert.deepEqual(
        before.map(({ status }) => status),
        [200, 404],
      )
      const usage = await api.get('/file/usage', { token })
      assert.deepEqual([usage.body.uploadingFiles, usage.body.uploadingBytes], [1, 5000])
      assert.equal((await unfinishedFiles(root)).length, 1)
    })

    test('a finished upload is forgotten after its time, and its file stays', async (t) => {
      const { api, tus, clock, env } = await start(t)
      const done = await tus.create({ body: textOf(100) })
      clock.advance(86_401)

      await atDesk(t, env, clock, expireUploads)

      const token = await logIn(api, 'user')
      const later = tusFor(api, token)
      assert.equal((await later.head(locationOf(done))).status, 404)
      assert.equal((await api.get(`/file/info/${fileIdOf(done)}`, { token })).status, 200)
    })

    test('nothing unfinished is listed, verified or swept away; what belongs to no upload is', async (t) => {
      const { api, user, tus, env, clock, root } = await start(t)
      await upload(api, user)
      const location = locationOf(await tus.create({ length: 1000, body: textOf(10) }))
      const gone = await tus.create({ length: 1000, body: textOf(10) })

      const findings = await atDesk(t, env, clock, async (storage) => {
        const found = await Array.fromAsync(verifyFiles(storage))
        const id = locationOf(gone).split('/').at(-1) ?? ''
        await storage.db.deleteFrom('uploads').where('id', '=', id).execute()
        await sweepUploads(storage)
        return found
      })

      assert.deepEqual(findings, ['sound'])
      assert.equal((await unfinishedFiles(root)).length, 1)
      const last = await tus.patch(location, 10, textOf(1000).subarray(10))
      assert.equal(last.status, 204)
    })

    test('when an owner is erased, the uploads and their bytes go', async (t) => {
      const { api, user, tus, env, clock, root } = await start(t)
      const location = locationOf(await tus.create({ length: 1000, body: textOf(10) }))
      const done = locationOf(await tus.create({ body: textOf(100) }))

      await atDesk(t, env, clock, (storage) => eraseUploads(storage, '2'))

      assert.deepEqual(await unfinishedFiles(root), [])
      for (const each of [location, done]) assert.equal((await tus.head(each)).status, 404)
      const { body } = await api.get('/file/usage', { token: user })
      assert.deepEqual([body.files, body.uploadingFiles], [1, 0])
    })

    test('over the number of unfinished uploads, creation is 429 TOO_MANY_UPLOADS, also at once', async (t) => {
      const { tus } = await start(t, { STORAGE_FULL_UPLOADS_PER_USER: '3' })

      const replies = await Promise.all(Array.from({ length: 8 }, () => tus.create()))
      const created = replies.filter(({ status }) => status === 201)
      const refused = replies.filter(({ status }) => status !== 201)
      await tus.cancel(locationOf(created[0] as ApiReply))
      const again = await tus.create()

      assert.equal(created.length, 3)
      for (const { status, body, headers } of refused) {
        assert.deepEqual([status, body.code, body.maxUploads], [429, 'TOO_MANY_UPLOADS', 3])
        assert.ok(headers.get('retry-after'))
      }
      assert.equal(again.status, 201)
    })

    test('creation reserves its length: form uploads and other creations see it, and a cancelled one gives it back', async (t) => {
      const { api, user, tus } = await start(t, { STORAGE_FULL_USER_BYTES: '1000' })
      const location = locationOf(await tus.create({ length: 900 }))
      const text = (length: number) => ({
        name: 'a.txt',
        type: 'text/plain',
        bytes: textOf(length),
      })

      const form = await upload(api, user, text(101))
      const other = await tus.create({ length: 101 })
      const fits = await upload(api, user, text(100))
      await tus.cancel(location)
      const after = await tus.create({ length: 900 })

      for (const refused of [form, other])
        assert.deepEqual([refused.status, refused.body.code], [413, 'QUOTA_EXCEEDED'])
      assert.deepEqual([fits.status, after.status], [201, 201])
    })

    test('creations, ends, cancellations and forms at once never exceed the quota; totals equal the rows', async (t) => {
      const first = await start(t, { STORAGE_FULL_USER_FILES: '10' })
      const { api, user, tus, env } = first
      const second = await startStorage(t, env)
      const there = tusFor(second.api, user)

      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, n) => [
          upload(n % 2 ? api : second.api, user),
          tus.create({ body: textOf(100) }),
          there.create({ body: textOf(50) }),
          cancelled(n % 2 ? tus : there),
        ]).flat(),
      )

      for (const { status } of replies) assert.ok([201, 413].includes(status), String(status))
      const { body } = await api.get('/file/usage', { token: user })
      const listed = await api.get('/file/list', { token: user })
      const uploads = await api.get('/file/uploads', { token: user })
      assert.deepEqual([body.files, body.uploadingFiles], [listed.body.length, uploads.body.length])
      assert.ok(body.files + body.uploadingFiles <= 10)
      let room = 10 - body.files - body.uploadingFiles
      for (; room > 0; room -= 1) assert.equal((await upload(api, user)).status, 201)
      assert.equal((await upload(api, user)).status, 413)
    })

    test('pages of allowed origins may send its headers and read those of replies', async (t) => {
      const origin = 'https://app.example'
      const { api, user, tus } = await start(t, { STORAGE_FULL_CORS_ORIGINS: origin })

      const preflight = await api.request('OPTIONS', '/file/uploads', {
        headers: { origin, 'access-control-request-method': 'PATCH' },
      })
      const created = await tus.create({ headers: { origin } })

      const allowed = preflight.headers.get('access-control-allow-headers') ?? ''
      for (const name of ['tus-resumable', 'upload-length', 'upload-metadata', 'upload-offset'])
        assert.ok(allowed.includes(name), allowed)
      assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /HEAD.*PATCH/)
      const exposed = created.headers.get('access-control-expose-headers') ?? ''
      for (const name of ['location', 'upload-offset', 'upload-expires', 'x-file-id'])
        assert.ok(exposed.includes(name), exposed)
      assert.ok(user)
    })

    test('Location has the prefix of the public URL', async (t) => {
      const { tus } = await start(t, {
        STORAGE_FULL_PUBLIC_URL: 'https://files.example/storage',
        TRUSTED_PROXIES: 'loopback',
      })

      const created = await tus.create()

      assert.match(locationOf(created), /^\/storage\/file\/uploads\/[0-9a-f]+$/)
    })

    test('a service key with files:write may upload, one with files:read may only look', async (t) => {
      const { api, admin } = await start(t)
      const keyWith = async (scope: string) => {
        const key = { name: scope, scopes: [scope] }
        const { body } = await api.post('/api/service-keys', key, { token: admin })
        return body.secret as string
      }
      const writer = tusFor(api, await keyWith('files:write'))
      const reading = await keyWith('files:read')

      const created = await writer.create({ body: textOf(100) })
      const refused = await tusFor(api, reading).create()
      const list = await api.get('/file/uploads', { token: reading })

      assert.equal(created.status, 201)
      assert.ok(fileIdOf(created) > 0)
      assert.deepEqual([refused.status, list.status], [403, 200])
    })
  })

async function cancelled(tus: ReturnType<typeof tusFor>): Promise<ApiReply> {
  const created = await tus.create({ body: textOf(10) })
  if (created.status === 201) await tus.cancel(locationOf(created))
  return created
}

const isSome = (bytes: number) => bytes > 0

/** Runs work on the storage of a service, as the command line does. */
async function atDesk<R>(
  t: TestContext,
  env: Record<string, string>,
  clock: TestStorage['clock'],
  work: (storage: Storage) => Promise<R>,
): Promise<R> {
  const { loadConfig } = await import('../src/config.ts')
  const log = createLogger('desk', 'silent')
  const { storage, database } = await openStorage(loadConfig(env), { clock, log })
  t.after(async () => {
    storage.providers.close()
    await database.close()
  })
  return work(storage)
}

async function unfinishedFiles(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && entry.parentPath.endsWith('.unfinished'))
    .map(({ parentPath, name }) => join(parentPath, name))
}

async function received(root: string): Promise<number> {
  const [path] = await unfinishedFiles(root)
  return path === undefined ? 0 : (await stat(path)).size
}
