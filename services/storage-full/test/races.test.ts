import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { Socket } from 'node:net'
import { after, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { engines, sampleFiles } from '@plinth/kit/testing'
import { type S3Server, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import { activateObject, startStorage, temporaryFolder, upload } from './start-storage.ts'

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Server) : await startS3({ after })

const SONG = Buffer.concat([sampleFiles.mp3, randomBytes(20_000_000)])
const song = { name: 'song.mp3', type: 'audio/mpeg', bytes: SONG }

/** Connections of this process, in which the service runs, to the object store. */
function socketsTo(endpoint: string): number {
  const { _getActiveHandles } = process as unknown as { _getActiveHandles(): unknown[] }
  const sockets = _getActiveHandles().filter((handle) => handle instanceof Socket)
  return sockets.filter(({ remotePort }) => remotePort === Number(new URL(endpoint).port)).length
}

describe('races', () => {
  for (const provider of ['LOCAL', 'OBJECT'] as const)
    test(`delete while downloading from ${provider}: the whole file or a clean break`, {
      skip: provider === 'OBJECT' && noS3,
    }, async (t) => {
      const service = await startStorage(t)
      const { api, baseUrl, user } = service
      if (provider === 'OBJECT') await activateObject(service, s3.settings)
      const { body } = await upload(api, user, song)
      const headers = { authorization: `Bearer ${user}` }
      const download = await fetch(`${baseUrl}/file/download/${body.id}`, { headers })

      const deleted = await api.delete(`/file/${body.id}`, { token: user })

      const bytes = await download.arrayBuffer().then(Buffer.from, () => undefined)
      assert.equal(deleted.status, 204)
      assert.ok(bytes === undefined || bytes.equals(SONG))
      assert.equal((await api.get(`/file/info/${body.id}`, { token: user })).status, 404)
    })

  test('readers who leave let go of the object store', { skip: noS3 }, async (t) => {
    const service = await startStorage(t)
    const { api, baseUrl, user } = service
    await activateObject(service, s3.settings)
    const { body } = await upload(api, user, song)
    const headers = { authorization: `Bearer ${user}` }

    for (let reader = 0; reader < 10; reader++) {
      const leaving = new AbortController()
      const { signal } = leaving
      await fetch(`${baseUrl}/file/download/${body.id}`, { headers, signal })
      leaving.abort()
    }

    while (socketsTo(s3.settings.endpoint) > 1) await setImmediate()
    const again = await api.get(`/file/download/${body.id}`, { token: user })
    assert.ok(again.bytes.equals(SONG))
  })

  test('two deletes at once: one 204, one 404', async (t) => {
    const { api, user } = await startStorage(t)
    for (let round = 0; round < 5; round++) {
      const { body } = await upload(api, user)
      const remove = () => api.delete(`/file/${body.id}`, { token: user })

      const replies = await Promise.all([remove(), remove()])

      assert.deepEqual(replies.map(({ status }) => status).sort(), [204, 404])
    }
  })

  test('activation during uploads: every file is where it says it is', {
    skip: noS3,
  }, async (t) => {
    const service = await startStorage(t)
    const { api, user, admin } = service
    await api.put('/api/storage/config/object', s3.settings, { token: admin })
    const activate = (provider: string) =>
      api.put('/api/storage/provider', { provider }, { token: admin })

    const uploads = Array.from({ length: 30 }, () => upload(api, user))
    const activated = await activate('OBJECT')
    const later = await upload(api, user)
    const replies = await Promise.all(uploads)

    assert.equal(activated.status, 200)
    assert.equal(later.body.provider, 'OBJECT')
    for (const { status, body } of replies) {
      assert.equal(status, 201)
      const read = await api.get(`/file/stream/${body.id}`, { token: user })
      assert.ok(read.bytes.equals(sampleFiles.png))
    }
  })

  test('every node follows an activation at once', { skip: noS3 }, async (t) => {
    const folder = await temporaryFolder(t)
    const first = await startStorage(t, { SUITE_DATA: folder })
    const { STORAGE_FULL_MASTER_KEY = '' } = first.env
    const second = await startStorage(t, { SUITE_DATA: folder, STORAGE_FULL_MASTER_KEY })

    await activateObject(first, s3.settings)

    assert.equal((await upload(second.api, second.user)).body.provider, 'OBJECT')
  })

  for (const engine of engines)
    test(`a storm of uploads, thumbnails, lists and deletes ends with both sides equal, on ${engine.name}`, {
      skip: engine.skip,
    }, async (t) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const { api, user, root } = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
      const live = async (turn: number) => {
        const { body } = await upload(api, user)
        const thumbnail = api.get(`/file/thumbnail/${body.id}`, { token: user })
        const list = await api.get('/file/list', { token: user })
        assert.ok(list.body.every(({ size }: { size: number }) => size === sampleFiles.png.length))
        if (turn % 3 > 0) await api.delete(`/file/${body.id}`, { token: user })
        await thumbnail
      }

      await Promise.all(Array.from({ length: 30 }, (_, turn) => live(turn)))

      const page = await api.get('/file/list?page=0&size=100', { token: user })
      assert.equal(page.body.length, 10)
      assert.equal(page.headers.get('x-total-count'), '10')
      const names = await readdir(root, { recursive: true })
      assert.equal(names.filter((name) => name.endsWith('.png')).length, 10)
      assert.equal(names.filter((name) => name.endsWith('.thumbnail.jpg')).length, 10)
      assert.deepEqual(
        names.filter((name) => name.endsWith('.part')),
        [],
      )
    })

  test('a thumbnail made while its file is deleted leaves nothing behind', async (t) => {
    const { api, user, root } = await startStorage(t)
    for (let round = 0; round < 10; round++) {
      const { body } = await upload(api, user)

      await Promise.all([
        api.get(`/file/thumbnail/${body.id}`, { token: user }),
        api.delete(`/file/${body.id}`, { token: user }),
      ])
    }

    const entries = await readdir(root, { recursive: true, withFileTypes: true })
    assert.deepEqual(
      entries.filter((entry) => entry.isFile()).map(({ name }) => name),
      [],
    )
  })
})
