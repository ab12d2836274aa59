import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { bothEngines, register, startStorage, upload } from './start-storage.ts'

for (const engine of bothEngines)
  describe(`files, on ${engine.name}`, engine.options, () => {
    const start = async (t: import('node:test').TestContext) =>
      startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t) })

    test('POST /file stores a file with its owner and provider', async (t) => {
      const { api, user } = await start(t)

      const reply = await upload(api, user, { name: 'Fotó.PNG' })

      assert.equal(reply.status, 201, JSON.stringify(reply.body))
      assert.equal(reply.headers.get('location'), `/file/info/${reply.body.id}`)
      const { storedFilename, ...metadata } = reply.body
      assert.match(storedFilename, /^[0-9a-f-]{36}\.png$/)
      assert.deepEqual(metadata, {
        id: 1,
        originalFilename: 'Fotó.PNG',
        extension: 'png',
        contentType: 'image/png',
        size: sampleFiles.png.length,
        checksumSha256: createHash('sha256').update(sampleFiles.png).digest('hex'),
        owner: 'user',
        ownerId: 2,
        provider: 'LOCAL',
        createdAt: '2030-01-01T00:00:00.000Z',
        updatedAt: '2030-01-01T00:00:00.000Z',
        folder: '/',
        tags: [],
        metadata: {},
        version: 1,
      })
    })

    test('GET /file/info/{id} reads the persisted metadata', async (t) => {
      const { api, user } = await start(t)
      const { body: stored } = await upload(api, user)

      const reply = await api.get(`/file/info/${stored.id}`, { token: user })

      assert.equal(reply.status, 200)
      assert.deepEqual(reply.body, stored)
    })

    test('GET /file/list lists the own files, newest first; an administrator gets all', async (t) => {
      const { api, admin, user } = await start(t)
      const alice = await register(api, 'alice')
      const first = await upload(api, user)
      const second = await upload(api, alice)
      const third = await upload(api, user)
      const listed = async (token: string) =>
        (await api.get('/file/list', { token })).body.map((file: { id: number }) => file.id)

      assert.deepEqual(await listed(user), [third.body.id, first.body.id])
      assert.deepEqual(await listed(alice), [second.body.id])
      assert.deepEqual(await listed(admin), [third.body.id, second.body.id, first.body.id])
    })

    test('GET /file/list?ownerId= has the files of one owner, for an administrator', async (t) => {
      const { api, admin, user } = await start(t)
      const alice = await register(api, 'alice')
      const mine = await upload(api, user)
      for (let count = 0; count < 2; count++) await upload(api, alice)
      const list = (query: string, token: string) => api.get(`/file/list?${query}`, { token })
      const { ownerId } = mine.body

      assert.deepEqual((await list(`ownerId=${ownerId}`, admin)).body, [mine.body])
      assert.deepEqual((await list(`ownerId=${ownerId}`, user)).body, [mine.body])
      assert.deepEqual((await list('ownerId=http%3A%2F%2Fissuer%231', admin)).body, [])
      assert.equal((await list(`ownerId=${ownerId}`, alice)).status, 403)
      const paged = await list('ownerId=3&page=0&size=1', admin)
      assert.equal(paged.headers.get('x-total-count'), '2')
      assert.match(paged.headers.get('link') ?? '', /ownerId=3&page=1&size=1>; rel="next"/)
    })

    test('GET /file/list is [] when there is nothing', async (t) => {
      const { api, user } = await start(t)

      const reply = await api.get('/file/list', { token: user })

      assert.equal(reply.status, 200)
      assert.match(reply.headers.get('content-type') ?? '', /^application\/json/)
      assert.deepEqual(reply.body, [])
    })

    test('GET /file/list is bounded by page and size when they are given', async (t) => {
      const { api, user } = await start(t)
      for (let count = 0; count < 5; count++) await upload(api, user)

      const reply = await api.get('/file/list?page=1&size=2', { token: user })

      assert.deepEqual(
        reply.body.map((file: { id: number }) => file.id),
        [3, 2],
      )
      assert.equal(reply.headers.get('x-total-count'), '5')
      assert.match(reply.headers.get('link') ?? '', /page=2&size=2>; rel="next"/)
    })

    test('GET /file/list ignores bad page numbers and unknown parameters', async (t) => {
      const { api, user } = await start(t)
      await upload(api, user)

      for (const query of ['page=-1', 'size=abc', 'size=0', 'page=1e9&x=1', 'sort='])
        assert.equal((await api.get(`/file/list?${query}`, { token: user })).status, 200, query)
    })

    test('the lists refuse an owner that contains NUL or is given twice, and any order', async (t) => {
      const { api, admin } = await start(t)

      for (const list of ['/file/list?', '/file/list?page=0&', '/file/deleted?'])
        for (const [query, fault] of [
          ['ownerId=%00', 'ownerId: must not contain NUL'],
          ['ownerId=1&ownerId=2', 'ownerId: must be given only once'],
          ['sort=size,asc', 'sort: this list cannot be sorted'],
        ]) {
          const { status, body } = await api.get(list + query, { token: admin })
          assert.deepEqual([status, body.errors], [400, [fault]], list + query)
        }
    })

    test('DELETE /file/{id} removes object, thumbnail and metadata', async (t) => {
      const { api, user } = await start(t)
      const { body } = await upload(api, user)
      await api.get(`/file/thumbnail/${body.id}`, { token: user })

      const reply = await api.delete(`/file/${body.id}`, { token: user })

      assert.equal(reply.status, 204)
      assert.equal((await api.get(`/file/info/${body.id}`, { token: user })).status, 404)
      assert.deepEqual((await api.get('/file/list', { token: user })).body, [])
      assert.equal((await api.delete(`/file/${body.id}`, { token: user })).status, 404)
    })

    test('every file endpoint: 401 without a token, 403 for another user, 404 for no file', async (t) => {
      const { api, user, admin } = await start(t)
      const mallory = await register(api, 'mallory')
      const { body } = await upload(api, user)
      const endpoints = ['GET /file/info/', 'GET /file/stream/', 'GET /file/download/']
      for (const endpoint of [...endpoints, 'GET /file/thumbnail/', 'DELETE /file/']) {
        const [method = '', path = ''] = endpoint.split(' ')
        const statusOf = async (id: string | number, token?: string) =>
          (await api.request(method, `${path}${id}`, { token })).status

        assert.equal(await statusOf(body.id), 401, endpoint)
        assert.equal(await statusOf(body.id, 'not-a-token'), 401, endpoint)
        assert.equal(await statusOf(body.id, mallory), 403, endpoint)
        assert.equal(await statusOf(999, mallory), 404, endpoint)
        for (const id of ['0', '-1', '1.5', '1e3', '9007199254740993', '01', 'abc', '%20'])
          assert.equal(await statusOf(id, user), 400, `${endpoint}${id}`)
        if (method === 'GET') assert.equal(await statusOf(body.id, admin), 200, endpoint)
      }
      assert.equal((await api.delete(`/file/${body.id}`, { token: admin })).status, 204)
    })

    test('GET /file/{id} is no endpoint: 405', async (t) => {
      const { api, user } = await start(t)

      const reply = await api.get('/file/1', { token: user })

      assert.equal(reply.status, 405)
      assert.equal(reply.headers.get('allow'), 'DELETE, PATCH, PUT')
    })
  })
