import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { engines, sharedStorage, startStorage, upload } from './start-storage.ts'

for (const engine of engines)
  describe(`storage administration, on ${engine.name}`, engine.options, () => {
    const { service } = sharedStorage(engine)

    test('on the first start LOCAL is configured and active', async () => {
      const { api, admin } = service()

      const status = await api.get('/api/storage/status', { token: admin })
      const config = await api.get('/api/storage/config', { token: admin })

      assert.deepEqual(status.body, {
        activeProvider: 'LOCAL',
        activeLocation: { provider: 'LOCAL', path: 'files' },
        configured: true,
        available: true,
        providers: {
          LOCAL: { configured: true, available: true, active: true },
          OBJECT: { configured: false, available: false, active: false },
        },
      })
      assert.deepEqual(config.body, {
        activeProvider: 'LOCAL',
        activeLocation: { provider: 'LOCAL', path: 'files' },
        pendingChanges: false,
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

    test('an activation takes effect at once at this node, and within a second at another', async (t) => {
      const first = await startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t) })
      const { api, admin, user, clock, root } = first
      const second = await startStorage(t, first.env, clock)
      for (const node of [first, second]) await upload(node.api, user)
      await api.put('/api/storage/config/local', { path: 'elsewhere' }, { token: admin })
      await api.put('/api/storage/provider', { provider: 'LOCAL' }, { token: admin })

      const here = await upload(api, user)
      clock.advance(1)
      const there = await upload(second.api, user)

      const { body: places } = await api.get('/api/storage/locations', { token: admin })
      assert.deepEqual(
        places.map(({ id: _, ...place }: { id: number }) => place),
        [
          { location: { provider: 'LOCAL', path: 'files' }, active: false, files: 2 },
          { location: { provider: 'LOCAL', path: 'elsewhere' }, active: true, files: 2 },
        ],
      )
      const entries = await readdir(join(root, 'elsewhere'), { recursive: true })
      const names = entries.map((entry) => basename(entry))
      for (const { body } of [here, there]) assert.ok(names.includes(body.storedFilename))
    })

    test('every endpoint needs ROLE_ADMIN: 401 without a token, 403 for a user', async () => {
      const { api, user } = service()
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
        'GET /api/storage/usage',
      ]
      for (const endpoint of endpoints) {
        const [method = '', path = ''] = endpoint.split(' ')

        assert.equal((await api.request(method, path)).status, 401, endpoint)
        assert.equal((await api.request(method, path, { token: user })).status, 403, endpoint)
      }
    })

    test('PUT /api/storage/provider: 400 for another name, 409 when it is not configured', async () => {
      const { api, admin } = service()
      const activate = (body: object) => api.put('/api/storage/provider', body, { token: admin })

      for (const body of [{ provider: 'FTP' }, { provider: 'local' }, { provider: 1 }, {}])
        assert.equal((await activate(body)).status, 400)
      const { body: refusal } = await activate({ provider: 'FTP' })
      assert.deepEqual(refusal.errors, ['provider: must be LOCAL or OBJECT'])
      const object = await activate({ provider: 'OBJECT' })
      assert.deepEqual([object.status, object.body.code], [409, 'STORAGE_NOT_CONFIGURED'])
      const tested = await api.post('/api/storage/test/object', undefined, { token: admin })
      assert.equal(tested.status, 409)
    })

    test('POST /api/storage/test/local probes that the location is writable', async () => {
      const { api, admin } = service()

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
  })
