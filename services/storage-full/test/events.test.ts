import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { startReceiver } from '@plinth/events/testing'
import { testClock } from '@plinth/kit/testing'
import Schema from 'typebox/schema'
import { until } from '../../../test/until.ts'
import { STORAGE_EVENTS } from '../src/files/events.ts'
import { engines, register, startStorage, type TestStorage, upload } from './start-storage.ts'

type EventItem = { id: string; type: string; subject: string; sequence: number; data: object }

/** The events about files and links, once there are at least `count`. */
function fileEvents({ api, admin }: TestStorage, count: number): Promise<EventItem[]> {
  const types = Object.keys(STORAGE_EVENTS).filter((type) => /^(file|link)\./.test(type))
  return until<EventItem[]>(
    async () => (await api.get(`/api/events?types=${types}`, { token: admin })).body.items,
    ({ length }) => length >= count,
  )
}

for (const engine of engines)
  describe(`events of storage on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      return startStorage(t, { STORAGE_FULL_DATABASE_URL, ...env }, testClock(), { delivers: true })
    }

    test('an upload, a link, its use, a deletion and a restore have one event each, without names', async (t) => {
      const service = await start(t)
      const { api, user } = service
      const receiver = await startReceiver(t)
      await api.post('/api/webhooks/endpoints', { url: receiver.url }, { token: service.admin })
      const { body: file } = await upload(api, user, { name: 'Ada Lovelace.png' })
      const wanted = { id: file.id, expiresInSeconds: 60 }
      const link = await api.post('/file/generate-pre-signed-url', wanted, { token: user })
      await api.get(`/file/presigned/${link.body.token}`)
      await api.delete(`/file/${file.id}?restorable=true`, { token: user })
      await api.post(`/file/${file.id}/restore`, undefined, { token: user })
      await api.delete(`/file/${file.id}`, { token: user })

      const events = await fileEvents(service, 6)

      const [linkEvent] = events.filter(({ type }) => type === 'link.created')
      assert.deepEqual(
        events.map(({ type, subject, sequence }) => [type, subject, sequence]),
        [
          ['file.uploaded', `file:${file.id}`, 1],
          ['link.created', linkEvent?.subject, 1],
          ['link.used', linkEvent?.subject, 2],
          ['file.deleted', `file:${file.id}`, 2],
          ['file.restored', `file:${file.id}`, 3],
          ['file.deleted', `file:${file.id}`, 4],
        ],
      )
      const { checksumSha256, ownerId, contentType, size } = file
      const data = { fileId: file.id, ownerId, contentType, size, checksumSha256 }
      assert.deepEqual(events[0]?.data, { ...data, provider: 'LOCAL' })
      for (const { type, data } of events)
        assert.ok(Schema.Check(STORAGE_EVENTS[type]?.data as never, data), type)
      assert.ok(!JSON.stringify(events).includes('Ada'))
      const delivered = await until(
        () => receiver.delivered,
        ({ length }) => length === 6,
      )
      const ids = delivered.map(({ id }) => id)
      assert.deepEqual(ids.toSorted(), events.map(({ id }) => id).toSorted())
    })

    test('an upload that just fits the quota has an event, one that exceeds it has none', async (t) => {
      const service = await start(t, { STORAGE_FULL_USER_FILES: '2' })
      const { api, user } = service
      const first = await upload(api, user)
      const second = await upload(api, user)
      const refused = await upload(api, user)
      const other = await upload(api, await register(api, 'other'))

      const events = await fileEvents(service, 3)

      assert.equal(refused.status, 413)
      assert.deepEqual(
        events.map(({ subject }) => subject),
        [first, second, other].map(({ body }) => `file:${body.id}`),
      )
      assert.equal(new Set(events.map(({ id }) => id)).size, 3)
    })

    test('are for administrators and keys with the scope, and include those about accounts', async (t) => {
      const { api, admin, user } = await start(t)
      await register(api, 'newcomer')
      const scopes = ['events:read']
      const { body: key } = await api.post(
        '/api/service-keys',
        { name: 'app', scopes },
        { token: admin },
      )

      const events = await until<EventItem[]>(
        async () => (await api.get('/api/events', { token: key.secret })).body.items,
        ({ length }) => length >= 2,
      )

      assert.deepEqual(
        events.map(({ type }) => type),
        ['user.registered', 'service_key.created'],
      )
      assert.equal((await api.get('/api/events', { token: user })).status, 403)
      assert.equal((await api.get('/api/events')).status, 401)
      const denied = await api.get('/api/webhooks/endpoints', { token: key.secret })
      assert.equal(denied.body.code, 'INSUFFICIENT_SCOPE')
    })
  })
