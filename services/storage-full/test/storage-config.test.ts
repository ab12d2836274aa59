import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { engines, sharedStorage, upload } from './start-storage.ts'

for (const engine of engines)
  describe(`storage configuration, on ${engine.name}`, engine.options, () => {
    const { service } = sharedStorage(engine)

    test('PUT /api/storage/config/local persists a contained path without activating it', async () => {
      const { api, admin, user } = service()
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

    test('saved settings are shown apart from those in use until activation', async () => {
      const { api, admin } = service()
      const token = { token: admin }
      const read = async () => {
        const { body: config } = await api.get('/api/storage/config', token)
        const { body: status } = await api.get('/api/storage/status', token)
        assert.deepEqual(config.activeLocation, status.activeLocation)
        return [config.activeLocation.path, config.local.path, config.pendingChanges]
      }
      const [inUse] = await read()

      await api.put('/api/storage/config/local', { path: 'third/place' }, token)
      const saved = await read()
      await api.put('/api/storage/provider', { provider: 'LOCAL' }, token)
      const activated = await read()

      assert.deepEqual(saved, [inUse, 'third/place', true])
      assert.deepEqual(activated, ['third/place', 'third/place', false])
    })

    test('PUT /api/storage/config/local refuses every path that could lead elsewhere', async () => {
      const { api, admin, root } = service()
      const before = await api.get('/api/storage/config', { token: admin })
      await mkdir(`${root}/inside`)
      await symlink('/etc', `${root}/inside/link`)
      const paths = [
        '/etc',
        '../x',
        'a/../../x',
        'a/..',
        '~',
        '',
        '  ',
        'a\0b',
        'inside/link',
        './inside/./link',
      ]
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
      assert.deepEqual(body, before.body)
    })

    test('PUT /api/storage/config/local refuses paths that can never be a folder', async () => {
      const { api, admin, root } = service()
      const before = await api.get('/api/storage/config', { token: admin })
      await writeFile(`${root}/plain`, '')
      const deep = Array.from({ length: 100 }, () => '\u{20000}').join('/')
      for (const path of [
        'plain/sub',
        'plain/sub/deeper',
        '長'.repeat(100),
        `${deep}/${deep}/${deep}`,
      ]) {
        const reply = await api.put('/api/storage/config/local', { path }, { token: admin })

        assert.deepEqual([reply.status, reply.body.code], [400, 'VALIDATION_ERROR'], path)
      }
      const { body } = await api.get('/api/storage/config', { token: admin })
      assert.deepEqual(body, before.body)
    })

    test('PUT /api/storage/config/local accepts the other names of the path', async () => {
      const { api, admin } = service()
      for (const name of ['relativePath', 'basePath', 'directory']) {
        const reply = await api.put('/api/storage/config/local', { [name]: name }, { token: admin })

        assert.deepEqual([reply.status, reply.body.local.path], [200, name])
      }
    })

    test('PUT /api/storage/config/local drops empty parts and dots from a path', async () => {
      const { api, admin } = service()
      const body = { path: './uploads//files/' }

      const reply = await api.put('/api/storage/config/local', body, { token: admin })

      assert.deepEqual([reply.status, reply.body.local.path], [200, 'uploads/files'])
    })

    test('PUT /api/storage/config/object answers 413 to a body over 16 KiB', async () => {
      const { api, admin } = service()
      const body = { endpoint: 'http://x', padding: 'x'.repeat(16 * 1024) }

      const reply = await api.put('/api/storage/config/object', body, { token: admin })

      assert.deepEqual([reply.status, reply.body.code], [413, 'BODY_TOO_LARGE'])
    })

    test('PUT /api/storage/config/object refuses endpoints that cannot be an object store', async () => {
      const { api, admin } = service()
      const good = { bucket: 'files', region: 'r', accessKey: 'a', secretKey: 's' }
      const endpoints = [
        'file:///etc/passwd',
        'ftp://x',
        'x',
        'http://169.254.169.254',
        'http://[::ffff:169.254.169.254]',
        'http://u:p@x',
      ]
      const unclear = [
        ' http://x',
        'http://x/a b',
        'ht\ntp://x',
        'http://x\0',
        'http:x',
        'http://x?',
      ]
      for (const endpoint of [...endpoints, ...unclear, 'http://x#', 'http://x/?a=b', undefined]) {
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

    test('PUT /api/storage/config/object saves one spelling of an endpoint', async () => {
      const { api, admin } = service()
      const good = { bucket: 'files', region: 'r', accessKey: 'a', secretKey: 's' }
      for (const [endpoint, saved] of [
        ['HTTP://Store.Example:80//', 'http://store.example'],
        ['http://2130706433:9000/', 'http://127.0.0.1:9000'],
        ['https://store.example:443/a/../b/', 'https://store.example/b'],
      ]) {
        const body = { ...good, endpoint }
        const reply = await api.put('/api/storage/config/object', body, { token: admin })

        assert.deepEqual([reply.status, reply.body.object?.endpoint], [200, saved])
      }
    })

    test('PUT /api/storage/config/object refuses what no request can be signed with', async () => {
      const { api, admin } = service()
      const good = { endpoint: 'http://x', bucket: 'files', accessKey: 'a', secretKey: 's' }
      const regions = ['us_east', '-', 'r-', 'us-east-1-fips', 'fips-us-east-1', 'x'.repeat(64)]
      for (const [change, fault] of [
        ...regions.map((region) => [{ region }, 'region: must be a region such as us-east-1']),
        ...['a\nb', '\0', 'ключ'].map((accessKey) => [
          { accessKey },
          'accessKey: must consist of printable ASCII characters',
        ]),
      ]) {
        const body = { ...good, ...(change as object) }
        const reply = await api.put('/api/storage/config/object', body, { token: admin })

        assert.deepEqual([reply.status, reply.body.errors], [400, [fault]])
      }
    })
  })
