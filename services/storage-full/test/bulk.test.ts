import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, sharedStorage, type TestStorage, upload } from './start-storage.ts'

for (const engine of engines)
  describe(`bulk actions, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)
    const bulk = ({ api, user: token }: TestStorage, body: object) =>
      api.post('/file/bulk', body, { token })
    const two = async ({ api, user }: TestStorage) => [
      (await upload(api, user)).body.id,
      (await upload(api, user)).body.id,
    ]

    test('move, trash, restore and delete, each with the outcome of its single call', async () => {
      const service = await newcomer()
      const { api, user: token } = service
      const ids = await two(service)

      const moved = await bulk(service, { action: 'move', ids, folder: '/to/here' })
      const { body: info } = await api.get(`/file/info/${ids[0]}`, { token })
      const trashed = await bulk(service, { action: 'trash', ids })
      const { body: trash } = await api.get('/file/deleted', { token })
      const again = await bulk(service, { action: 'trash', ids })
      const restored = await bulk(service, { action: 'restore', ids: [ids[0], ids[0]] })
      const deleted = await bulk(service, { action: 'delete', ids: [...ids, 999_999_999] })

      assert.deepEqual(moved.body, { done: ids, failed: [] })
      assert.equal(info.folder, '/to/here')
      assert.deepEqual([trashed.status, trashed.body.done], [200, ids])
      assert.equal(trash.totalElements, 2)
      const missing = (id: number) => ({ id, code: 'FILE_NOT_FOUND' })
      assert.deepEqual(again.body, { done: [], failed: ids.map(missing) })
      assert.deepEqual(restored.body, { done: [ids[0]], failed: [] })
      assert.deepEqual(deleted.body, { done: ids, failed: [missing(999_999_999)] })
      const { body: left } = await api.get('/file/list', { token })
      assert.deepEqual(left, [])
    })

    test('the file of another fails with its code, and the own are done', async () => {
      const service = await newcomer()
      const other = await newcomer()
      const { body: foreign } = await upload(other.api, other.user)
      const [own] = await two(service)

      const { body } = await bulk(service, { action: 'trash', ids: [foreign.id, own] })
      const asAdmin = await bulk(
        { ...service, user: service.admin },
        { action: 'move', ids: [foreign.id], folder: '/sorted' },
      )

      assert.deepEqual(body, { done: [own], failed: [{ id: foreign.id, code: 'ACCESS_DENIED' }] })
      assert.deepEqual(asAdmin.body.done, [foreign.id])
      const listed = await other.api.get('/file/folders', { token: other.user })
      assert.deepEqual(listed.body.folders[0].path, '/sorted')
    })

    test('no ids, too many, a bad id, action or folder, or a move without one: 400', async () => {
      const service = await newcomer()
      const many = Array.from({ length: 1_001 }, (_, n) => n + 1)
      const bad = [
        { action: 'trash', ids: [] },
        { action: 'trash', ids: many },
        { action: 'trash', ids: [0] },
        { action: 'trash', ids: ['1'] },
        { action: 'trash' },
        { action: 'rename', ids: [1] },
        { action: 'move', ids: [1] },
        { action: 'move', ids: [1], folder: 'x' },
        { action: 'move', ids: [1], folder: null },
      ]
      for (const body of bad)
        assert.equal((await bulk(service, body)).status, 400, JSON.stringify(body).slice(0, 80))
      const unauthenticated = await service.api.post('/file/bulk', { action: 'trash', ids: [1] })
      assert.equal(unauthenticated.status, 401)
    })
  })
