import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { after, describe, type TestContext, test } from 'node:test'
import { engines, sampleFiles } from '@plinth/kit/testing'
import { type S3Server, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import { activateObject, startStorage, upload } from './start-storage.ts'

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Server) : await startS3({ after })

for (const engine of engines)
  describe(`storage administration, on ${engine.name}`, { skip: engine.skip }, () => {
    const start = async (t: TestContext) =>
      startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t) })

    test('on the first start LOCAL is configured and active', async (t) => {
      const { api, admin } = await start(t)

      const status = await api.get('/api/storage/status', { token: admin })
      const config = await api.get('/api/storage/config', { token: admin })

      assert.deepEqual(status.body, {
        activeProvider: 'LOCAL',
        configured: true,
        available: true,
        providers: {
          LOCAL: { configured: true, available: true, active: true },
          OBJECT: { configured: false, available: false, active: false },
        },
      })
      assert.deepEqual(config.body, {
        activeProvider: 'LOCAL',
        local: { configured: true, path: 'files' },
        object: {
          configured: false,
          endpoint: null,
          region: null,
          bucket: null,
          pathStyleAccess: null,
          accessKeyPresent: false,
          secretKeyPresent: false,
        },
      })
    })

    test('every endpoint needs ROLE_ADMIN: 401 without a token, 403 for a user', async (t) => {
      const { api, user } = await start(t)
      const endpoints = [
        'GET /api/storage/status',
        'GET /api/storage/config',
        'PUT /api/storage/config/local',
        'PUT /api/storage/config/object',
        'POST /api/storage/test/local',
        'POST /api/storage/test/object',
        'PUT /api/storage/provider',
        'POST /api/storage/moves',
        'GET /api/storage/moves',
        'GET /api/storage/moves/1',
        'DELETE /api/storage/moves/1',
      ]
      for (const endpoint of endpoints) {
        const [method = '', path = ''] = endpoint.split(' ')

        assert.equal((await api.request(method, path)).status, 401, endpoint)
        assert.equal((await api.request(method, path, { token: user })).status, 403, endpoint)
      }
    })

    test('PUT /api/storage/config/local persists a contained path without activating it', async (t) => {
      const { api, admin, user } = await start(t)
      const before = await upload(api, user)

      const saved = await api.put(
        '/api/storage/config/local',
        { path: 'second/place' },
        { token: admin },
      )
      const between = await upload(api, user)
      const activated = await api.put(
        '/api/storage/provider',
        { provider: 'LOCAL' },
        { token: admin },
      )
      const later = await upload(api, user)

      assert.equal(saved.status, 200)
      assert.deepEqual(saved.body.local, { configured: true, path: 'second/place' })
      assert.equal(activated.status, 200)
      for (const { body } of [before, between, later]) {
        const reply = await api.get(`/file/download/${body.id}`, { token: user })
        assert.ok(reply.bytes.equals(sampleFiles.png))
      }
    })

    test('PUT /api/storage/config/local refuses every path that could lead elsewhere', async (t) => {
      const { api, admin, root } = await start(t)
      await mkdir(`${root}/inside`)
      await symlink('/etc', `${root}/inside/link`)
      const paths = ['/etc', '../x', 'a/../../x', 'a/..', '~', '', '  ', 'a\0b', 'inside/link']
      for (const path of [...paths, 'inside/link/deeper', '.incoming', 'C:\\x', 'a'.repeat(5000)]) {
        const reply = await api.put('/api/storage/config/local', { path }, { token: admin })

        assert.equal(reply.status, 400, path)
      }
      for (const body of [{}, { path: 5 }, { path: null }])
        assert.equal(
          (await api.put('/api/storage/config/local', body, { token: admin })).status,
          400,
        )
      const { body } = await api.get('/api/storage/config', { token: admin })
      assert.equal(body.local.path, 'files')
    })

    test('PUT /api/storage/config/local also knows the path by its other names', async (t) => {
      const { api, admin } = await start(t)
      for (const name of ['relativePath', 'basePath', 'directory']) {
        const reply = await api.put('/api/storage/config/local', { [name]: name }, { token: admin })

        assert.deepEqual([reply.status, reply.body.local.path], [200, name])
      }
    })

    test('PUT /api/storage/config/local reads over what leads nowhere in a path', async (t) => {
      const { api, admin } = await start(t)
      const body = { path: './uploads//files/' }

      const reply = await api.put('/api/storage/config/local', body, { token: admin })

      assert.deepEqual([reply.status, reply.body.local.path], [200, 'uploads/files'])
    })

    test('PUT /api/storage/config/object refuses endpoints that are no object store', async (t) => {
      const { api, admin } = await start(t)
      const good = { bucket: 'files', region: 'r', accessKey: 'a', secretKey: 's' }
      const endpoints = [
        'file:///etc/passwd',
        'ftp://x',
        'x',
        'http://169.254.169.254',
        'http://[::ffff:169.254.169.254]',
        'http://u:p@x',
      ]
      for (const endpoint of [...endpoints, 'http://x/?a=b', undefined]) {
        const reply = await api.put(
          '/api/storage/config/object',
          { ...good, endpoint },
          { token: admin },
        )

        assert.equal(reply.status, 400)
        assert.match(reply.body.errors[0], /^endpoint: /)
      }
      const { body } = await api.put('/api/storage/config/object', {}, { token: admin })
      assert.equal(body.errors.length, 4)
      const blank = { ...good, endpoint: 'http://x', accessKey: '  ', secretKey: '\t' }
      const refused = await api.put('/api/storage/config/object', blank, { token: admin })
      assert.deepEqual(refused.body.errors, [
        'accessKey: must not be blank',
        'secretKey: must not be blank',
      ])
    })

    test('PUT /api/storage/provider: 400 for another name, 409 when it is not configured', async (t) => {
      const { api, admin } = await start(t)
      const activate = (body: object) => api.put('/api/storage/provider', body, { token: admin })

      assert.equal((await activate({ provider: 'FTP' })).status, 400)
      assert.equal((await activate({})).status, 400)
      const object = await activate({ provider: 'OBJECT' })
      assert.deepEqual([object.status, object.body.code], [409, 'STORAGE_NOT_CONFIGURED'])
      const tested = await api.post('/api/storage/test/object', undefined, { token: admin })
      assert.equal(tested.status, 409)
    })

    test('POST /api/storage/test/local probes that the location is writable', async (t) => {
      const { api, admin } = await start(t)

      const reply = await api.post('/api/storage/test/local', undefined, { token: admin })

      assert.equal(reply.status, 200)
      const { steps, message, ...rest } = reply.body
      assert.deepEqual(rest, { provider: 'LOCAL', success: true, available: true })
      assert.ok(message)
      assert.deepEqual(
        steps.map((step: { name: string }) => step.name),
        ['folder', 'contents', 'write', 'read back', 'delete'],
      )
    })

    describe('with an object store', { skip: noS3 }, () => {
      test('PUT /api/storage/config/object persists sealed settings and never shows them', async (t) => {
        const service = await start(t)
        const { api, admin } = service

        const saved = await api.put('/api/storage/config/object', s3.settings, { token: admin })
        const { accessKey, secretKey, ...known } = s3.settings
        const rotated = { ...known, secretKey: 'rotated-secret' }
        const updated = await api.put('/api/storage/config/object', rotated, { token: admin })

        assert.equal(saved.status, 200)
        assert.deepEqual(saved.body.object, {
          configured: true,
          ...known,
          accessKeyPresent: true,
          secretKeyPresent: true,
        })
        assert.equal(saved.body.activeProvider, 'LOCAL')
        assert.equal(updated.body.object.accessKeyPresent, true)
        const told = JSON.stringify([saved.body, updated.body])
        assert.doesNotMatch(told, new RegExp(`${secretKey}|rotated-secret`))
        assert.ok(!told.includes(accessKey))
        assert.doesNotMatch(await databaseText(service), /testing-secret|rotated-secret/)
      })

      test('POST /api/storage/test/object walks all steps, and says which one failed', async (t) => {
        const { api, admin } = await start(t)
        const save = (change: object) =>
          api.put('/api/storage/config/object', { ...s3.settings, ...change }, { token: admin })
        const probe = () => api.post('/api/storage/test/object', undefined, { token: admin })

        await save({})
        const good = await probe()
        await save({ secretKey: 'wrong-secret' })
        const refused = await probe()
        await save({ bucket: 'no-such-bucket' })
        const homeless = await probe()

        assert.equal(good.status, 200)
        assert.deepEqual(
          good.body.steps.map((step: { name: string }) => step.name),
          ['resolve', 'connect', 'clock', 'credentials', 'bucket', 'write', 'read back', 'delete'],
        )
        assert.equal(refused.status, 503)
        const { provider, success, available, steps } = refused.body
        assert.deepEqual([provider, success, available], ['OBJECT', false, false])
        assert.equal(steps.at(-1).name, 'credentials')
        assert.equal(homeless.body.steps.at(-1).name, 'bucket')
        assert.doesNotMatch(JSON.stringify([refused.body, homeless.body]), /secret-|test:tester/)
      })

      test('PUT /api/storage/provider tests first; a failed test leaves the active one', async (t) => {
        const { api, admin, user } = await start(t)
        const wrong = { ...s3.settings, secretKey: 'wrong' }
        await api.put('/api/storage/config/object', wrong, { token: admin })

        const reply = await api.put(
          '/api/storage/provider',
          { provider: 'OBJECT' },
          { token: admin },
        )

        assert.equal(reply.status, 503)
        assert.equal(reply.body.code, 'STORAGE_TEST_FAILED')
        const status = await api.get('/api/storage/status', { token: admin })
        assert.equal(status.body.activeProvider, 'LOCAL')
        assert.equal((await upload(api, user)).body.provider, 'LOCAL')
      })

      test('files stay where they were put, whatever is active now', async (t) => {
        const service = await start(t)
        const { api, admin, user } = service
        const local = await upload(api, user)

        await activateObject(service, s3.settings)
        const object = await upload(api, user)
        await api.put('/api/storage/provider', { provider: 'LOCAL' }, { token: admin })

        assert.deepEqual([local.body.provider, object.body.provider], ['LOCAL', 'OBJECT'])
        for (const { body } of [local, object]) {
          const link = await api.post(
            '/file/generate-pre-signed-url',
            { id: body.id, expiresInSeconds: 60 },
            { token: user },
          )
          const range = { range: 'bytes=1-3' }
          const shared = await api.get(`/file/presigned/${link.body.token}`)
          const part = await api.get(`/file/stream/${body.id}`, { token: user, headers: range })
          const thumbnail = await api.get(`/file/thumbnail/${body.id}`, { token: user })
          assert.ok(shared.bytes.equals(sampleFiles.png))
          assert.deepEqual([part.status, part.bytes], [206, sampleFiles.png.subarray(1, 4)])
          assert.equal(thumbnail.headers.get('content-type'), 'image/jpeg')
          assert.equal((await api.delete(`/file/${body.id}`, { token: user })).status, 204)
        }
      })
    })
  })

async function databaseText({ env }: { env: Record<string, string> }): Promise<string> {
  const url = env.STORAGE_FULL_DATABASE_URL ?? ''
  const { default: pg } = await import('pg')
  const { default: Sqlite } = await import('better-sqlite3')
  const query = 'select sealed_settings from storage_settings'
  if (url.startsWith('sqlite:'))
    return JSON.stringify(new Sqlite(url.slice('sqlite:'.length)).prepare(query).all())
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(query)
  await client.end()
  return JSON.stringify(rows)
}
