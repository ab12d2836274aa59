import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { sampleFiles } from '@plinth/kit/testing'
import { bucketOnS3, type S3Bucket, s3Missing } from '../../../test/servers/s3.ts'
import { openStorage } from '../src/app.ts'
import { saveSettings } from '../src/locations/locations.ts'
import { activateObject, engines, startStorage, type TestStorage, upload } from './start-storage.ts'

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Bucket) : await bucketOnS3()

type Located = { location: { provider: string } }

/** Opens the storage of a running service, to save what an earlier version would have saved. */
async function openBeside(t: TestContext, { config, clock }: TestStorage) {
  const { storage, database } = await openStorage(config, {
    clock,
    log: createLogger('beside', 'silent'),
  })
  t.after(async () => {
    storage.providers.close()
    await database.close()
  })
  return { storage }
}

for (const engine of engines)
  describe(`administration of an object store, on ${engine.name}`, {
    ...engine.options,
    skip: engine.skip || noS3,
  }, () => {
    const start = async (t: TestContext) =>
      startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t) })

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
      const shown = JSON.stringify([saved.body, updated.body])
      assert.doesNotMatch(shown, new RegExp(`${secretKey}|rotated-secret`))
      assert.ok(!shown.includes(accessKey))
      assert.doesNotMatch(await databaseText(service), /testing-secret|rotated-secret/)
    })

    test('POST /api/storage/test/object runs all steps, and says which one failed', async (t) => {
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

    test('a bucket in use is shown without its keys, and new keys are pending until activation', async (t) => {
      const service = await start(t)
      const { api, admin } = service
      await activateObject(service, s3.settings)
      const config = async () => (await api.get('/api/storage/config', { token: admin })).body

      const before = await config()
      const rotated = { secretKey: 'rotated-secret' }
      await api.put('/api/storage/config/object', rotated, { token: admin })
      const after = await config()

      const { accessKey, secretKey, ...known } = s3.settings
      assert.deepEqual(before.activeLocation, { provider: 'OBJECT', ...known })
      assert.deepEqual([before.pendingChanges, after.pendingChanges], [false, true])
      assert.deepEqual(after.activeLocation, before.activeLocation)
    })

    test('PUT /api/storage/provider tests first; after a failed test the active one stays', async (t) => {
      const { api, admin, user } = await start(t)
      const wrong = { ...s3.settings, secretKey: 'wrong' }
      await api.put('/api/storage/config/object', wrong, { token: admin })

      const reply = await api.put('/api/storage/provider', { provider: 'OBJECT' }, { token: admin })

      assert.equal(reply.status, 503)
      assert.equal(reply.body.code, 'STORAGE_TEST_FAILED')
      const status = await api.get('/api/storage/status', { token: admin })
      assert.equal(status.body.activeProvider, 'LOCAL')
      assert.equal((await upload(api, user)).body.provider, 'LOCAL')
    })

    test('unusable settings of an earlier version are not available, and the test names the fault', async (t) => {
      const service = await start(t)
      const { api, admin } = service
      const { storage } = await openBeside(t, service)
      const token = { token: admin }
      for (const [change, fault] of [
        [{ region: 'us_east' }, /^region: .* Correct it and save/],
        [{ region: 'us-east-1-fips' }, /^region: /],
        [{ accessKey: 'a\nb' }, /^accessKey: /],
      ] as const) {
        const object = { ...s3.settings, ...change }
        await saveSettings(storage, { provider: 'OBJECT', object })

        const status = await api.get('/api/storage/status', token)
        const tested = await api.post('/api/storage/test/object', undefined, token)

        const { OBJECT } = status.body.providers
        assert.deepEqual([status.status, OBJECT.configured, OBJECT.available], [200, true, false])
        const [step] = tested.body.steps
        assert.deepEqual([tested.status, step.name, step.passed], [503, 'settings', false])
        assert.match(step.message, fault)
      }
    })

    test('a bucket is one location, even if its endpoint was once saved in another spelling', async (t) => {
      const service = await start(t)
      const { api, admin, user } = service
      const { storage } = await openBeside(t, service)
      await activateObject(service, s3.settings)
      const { body: file } = await upload(api, user)
      const endpoint = s3.settings.endpoint.replace('http:', 'HTTP:')
      const object = { ...s3.settings, endpoint }
      const old = {
        place: `${endpoint} ${object.bucket}`,
        sealed_settings: storage.providers.seal({ provider: 'OBJECT', object }),
      }
      await storage.db
        .updateTable('storage_locations')
        .set(old)
        .where('provider', '=', 'OBJECT')
        .execute()
      const objects = async () => {
        const { body } = await api.get('/api/storage/locations', { token: admin })
        return body.filter(({ location }: Located) => location.provider === 'OBJECT')
      }
      const [before] = await objects()

      await activateObject(service, { ...s3.settings, endpoint: `${endpoint}/` })

      const { accessKey, secretKey, ...known } = s3.settings
      assert.equal(before.location.endpoint, endpoint)
      assert.deepEqual(await objects(), [{ ...before, location: { provider: 'OBJECT', ...known } }])
      const reply = await api.get(`/file/download/${file.id}`, { token: user })
      assert.ok(reply.bytes.equals(sampleFiles.png))
    })

    test('files stay where they were stored, whichever provider is active', async (t) => {
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
