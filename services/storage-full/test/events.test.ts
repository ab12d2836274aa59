import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { startReceiver } from '@plinth/events/testing'
import { createLogger } from '@plinth/kit/logging'
import { testClock } from '@plinth/kit/testing'
import Schema from 'typebox/schema'
import { until } from '../../../test/until.ts'
import { openStorage } from '../src/app.ts'
import { STORAGE_EVENTS } from '../src/files/events.ts'
import { finishDeletions } from '../src/upkeep/sweep.ts'
import { replace, TEXT } from './replace-file.ts'
import { engines, register, startStorage, type TestStorage, upload } from './start-storage.ts'
import { sha256 } from './tus-client.ts'

type EventItem = { id: string; type: string; subject: string; sequence: number; data: object }

/** The events about files, folders and links, once there are at least `count`. */
function fileEvents({ api, admin }: TestStorage, count: number): Promise<EventItem[]> {
  const types = Object.keys(STORAGE_EVENTS).filter((type) => /^(file|folder|link)\./.test(type))
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

    test('a change, new content, a moved folder, and what is removed for good have one event each, without names', async (t) => {
      const service = await start(t, { STORAGE_FULL_VERSIONS: '1' })
      const { api, user: token } = service
      const bytes = (letter: string) => Buffer.from(letter.repeat(10))
      const store = async (letter: string) =>
        (await upload(api, token, { ...TEXT, bytes: bytes(letter), folder: '/ada' })).body
      const [file, other, kept] = [await store('a'), await store('b'), await store('c')]
      const trash = (id: number) => api.delete(`/file/${id}?restorable=true`, { token })

      await api.patch(`/file/${file.id}`, { originalFilename: 'ada.txt', tags: ['ada'] }, { token })
      for (const letter of ['d', 'e']) await replace(api, token, file.id, { bytes: bytes(letter) })
      await api.delete(`/file/${file.id}/versions/2`, { token })
      await api.post('/file/folders/move', { from: '/ada', to: '/lovelace' }, { token })
      for (const { id } of [file, other]) await trash(id)
      await api.delete(`/file/${other.id}`, { token })
      await api.delete('/file/deleted', { token })
      // These change nothing.
      await api.delete('/file/deleted', { token })
      await replace(api, token, kept.id, { bytes: bytes('f'), headers: { 'if-match': '"x"' } })
      await api.patch(`/file/${kept.id}`, { originalFilename: 'a/b.txt' }, { token })
      await api.delete(`/file/${kept.id}`, { token })

      const last = ({ type, subject }: EventItem) =>
        type === 'file.deleted' && subject === `file:${kept.id}`
      const events = await until(
        () => fileEvents(service, 1),
        (items) => items.some(last),
      )
      const of = (id: number) =>
        events
          .filter(({ subject }) => subject === `file:${id}`)
          .map(({ type, data }) => [type, 'version' in data ? data.version : undefined])
      assert.deepEqual(of(file.id), [
        ['file.uploaded', undefined],
        ['file.updated', undefined],
        ['file.replaced', 2],
        ['file.replaced', 3],
        ['file.purged', 1],
        ['file.purged', 2],
        ['file.deleted', undefined],
        ['file.purged', null],
      ])
      assert.deepEqual(of(other.id), [
        ['file.uploaded', undefined],
        ['file.deleted', undefined],
        ['file.purged', null],
      ])
      assert.deepEqual(of(kept.id), [
        ['file.uploaded', undefined],
        ['file.deleted', undefined],
      ])
      const moved = events.filter(({ type }) => type === 'folder.moved')
      assert.deepEqual(
        moved.map(({ data }) => data),
        [{ ownerId: file.ownerId, files: 3 }],
      )
      const sums = events
        .filter(({ type, subject }) => subject === `file:${file.id}` && type !== 'file.updated')
        .map(({ data }) => ('checksumSha256' in data ? data.checksumSha256 : undefined))
      assert.deepEqual(
        sums,
        ['a', 'd', 'e', 'a', 'd', 'e', 'e'].map((letter) => sha256(bytes(letter))),
      )
      for (const { type, data } of events)
        assert.ok(Schema.Check(STORAGE_EVENTS[type]?.data as never, data), type)
      // Whole words, because a random id may have these letters.
      assert.doesNotMatch(JSON.stringify(events), /\bada\b|lovelace|notes/)
    })

    test('a file that leaves the trash because its time is over has file.purged once', async (t) => {
      const service = await start(t, { STORAGE_FULL_RESTORABLE_SECONDS: '60' })
      const { api, user: token, config, clock } = service
      const { body: file } = await upload(api, token)
      await api.delete(`/file/${file.id}?restorable=true`, { token })
      const log = createLogger('events', 'silent')
      const { storage, database } = await openStorage(config, { clock, log })
      t.after(async () => {
        storage.providers.close()
        await database.close()
      })

      clock.advance(61)
      await Promise.all([finishDeletions(storage), finishDeletions(storage)])
      await finishDeletions(storage)

      const marker = await upload(api, token)
      const events = await until(
        () => fileEvents(service, 1),
        (items) => items.some(({ subject }) => subject === `file:${marker.body.id}`),
      )
      const about = events.filter(({ subject }) => subject === `file:${file.id}`)
      assert.deepEqual(
        about.map(({ type }) => type),
        ['file.uploaded', 'file.deleted', 'file.purged'],
      )
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
