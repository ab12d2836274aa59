import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { engines, moveAll, startStorage, type TestStorage, upload } from './start-storage.ts'

const BUCKET = {
  endpoint: 'http://127.0.0.1:9',
  bucket: 'files',
  accessKey: 'an-access-key',
  secretKey: 'a-secret-key',
}

for (const engine of engines)
  describe(`the audit of storage administration, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext) =>
      startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t) })

    test('changes, tests and activations of storage by an administrator are recorded', async (t) => {
      const service = await start(t)
      const { api, admin } = service
      const token = { token: admin }

      await api.put('/api/storage/config/local', { path: 'second' }, token)
      await api.put('/api/storage/config/object', BUCKET, token)
      await api.post('/api/storage/test/object', undefined, token)
      await api.put('/api/storage/provider', { provider: 'LOCAL' }, token)

      assert.deepEqual(await eventsOf(service), [
        ['STORAGE_CONFIGURED', 'admin', 'LOCAL second', 'SUCCESS'],
        ['STORAGE_CONFIGURED', 'admin', 'OBJECT files at http://127.0.0.1:9', 'SUCCESS'],
        ['STORAGE_TESTED', 'admin', 'OBJECT files at http://127.0.0.1:9', 'REFUSED'],
        ['STORAGE_TESTED', 'admin', 'LOCAL second', 'SUCCESS'],
        ['STORAGE_ACTIVATED', 'admin', 'LOCAL second', 'SUCCESS'],
      ])
      const { body } = await api.get('/api/audit', token)
      assert.equal(body.content[0].address, '127.0.0.1')
      assert.doesNotMatch(JSON.stringify(body), /an-access-key|a-secret-key/)
    })

    test('a refused change is not recorded', async (t) => {
      const service = await start(t)
      const { api, admin } = service

      await api.put('/api/storage/config/local', { path: '/etc' }, { token: admin })
      await api.put('/api/storage/config/object', { endpoint: 'x' }, { token: admin })

      assert.deepEqual(await eventsOf(service), [])
    })

    test('moves, and deletions of files of other users, are recorded', async (t) => {
      const service = await start(t)
      const { api, admin, user } = service
      const [{ body: first }, { body: second }] = [await upload(api, user), await upload(api, user)]

      await moveAll(service, 'LOCAL')
      await api.delete(`/file/${first.id}`, { token: admin })
      await api.delete(`/file/${second.id}`, { token: user })

      assert.deepEqual(await eventsOf(service), [
        ['STORAGE_TESTED', 'admin', 'LOCAL files', 'SUCCESS'],
        ['MOVE_STARTED', 'admin', '0 files to LOCAL', 'SUCCESS'],
        ['FILE_DELETED', 'admin', 'user', 'SUCCESS'],
      ])
      const { body: found } = await api.get('/api/audit?user=user&event=FILE_DELETED', {
        token: admin,
      })
      assert.deepEqual(
        found.content.map(({ actor, reason }: Record<string, string>) => [actor, reason]),
        [['admin', `file ${first.id}`]],
      )
    })

    test('cancelling a move that has ended changes nothing and is not recorded', async (t) => {
      const service = await start(t)
      const { api, admin } = service
      const done = await moveAll(service, 'LOCAL')

      const cancelled = await api.delete(`/api/storage/moves/${done.id}`, { token: admin })

      assert.equal(done.state, 'DONE')
      assert.deepEqual([cancelled.status, cancelled.body], [200, done])
      assert.deepEqual(
        (await eventsOf(service)).map(([event]) => event),
        ['STORAGE_TESTED', 'MOVE_STARTED'],
      )
    })

    test('a user who tries to administer storage is recorded', async (t) => {
      const service = await start(t)
      const { api, user } = service

      const refused = await api.put('/api/storage/provider', { provider: 'LOCAL' }, { token: user })
      await api.get('/api/storage/usage', { token: user })

      assert.equal(refused.status, 403)
      assert.deepEqual(await eventsOf(service), [
        ['ACCESS_DENIED', 'user', 'PUT /api/storage/provider', 'REFUSED'],
        ['ACCESS_DENIED', 'user', 'GET /api/storage/usage', 'REFUSED'],
      ])
    })
  })

type AuditEvent = { event: string; actor: string; subject: string; result: string }

/** All events except logins, oldest first. */
async function eventsOf({ api, admin }: TestStorage): Promise<string[][]> {
  const { body } = await api.get('/api/audit?size=100&sort=id,asc', { token: admin })
  return body.content
    .filter(({ event }: AuditEvent) => event !== 'LOGIN')
    .map(({ event, actor, subject, result }: AuditEvent) => [event, actor, subject, result])
}
