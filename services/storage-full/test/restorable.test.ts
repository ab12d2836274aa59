import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { secondsAfter } from '@plinth/kit/runtime'
import { type ApiReply, sampleFiles } from '@plinth/kit/testing'
import { openStorage } from '../src/app.ts'
import { claimForRemoval } from '../src/files/deletions/deletions.repository.ts'
import { finishDeletion } from '../src/files/deletions/deletions.ts'
import { finishDeletions, sweep } from '../src/upkeep/sweep.ts'
import { verifyFiles } from '../src/upkeep/verify.ts'
import { engines, register, sharedStorage, type TestStorage, upload } from './start-storage.ts'

const MINUTES = 60
const SIZE = sampleFiles.png.length
/** Two small pictures fit, a small one and a larger one do not. */
const MAX_BYTES = 2 * SIZE + 10

type Caller = Pick<TestStorage, 'api'> & { user: string }

const deleteRestorably = ({ api, user }: Caller, id: number) =>
  api.delete(`/file/${id}?restorable=true`, { token: user })

const restore = ({ api, user }: Caller, id: number) =>
  api.post(`/file/${id}/restore`, undefined, { token: user })

const idsOf = ({ body }: ApiReply) => body.content.map(({ id }: { id: number }) => id)

const statusesOf = (replies: ApiReply[]) => replies.map(({ status }) => status).sort()

/** Opens the storage of a running service, as its jobs and the command line do. */
async function openBeside(t: TestContext, { config, clock }: TestStorage) {
  const log = createLogger('restorable', 'silent')
  const { storage, database } = await openStorage(config, { clock, log })
  t.after(async () => {
    storage.providers.close()
    await database.close()
  })
  return storage
}

type AuditEntry = Record<'event' | 'subject' | 'reason', string>

for (const engine of engines)
  describe(`deletions that can be undone, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine, {
      STORAGE_FULL_USER_FILES: '2',
      STORAGE_FULL_USER_BYTES: String(MAX_BYTES),
      STORAGE_FULL_ORPHAN_AGE_SECONDS: '0',
      STORAGE_FULL_RESTORABLE_SECONDS: '600',
    })

    test('the file is gone for everyone, and comes back as it was, with its links', async () => {
      const service = await newcomer()
      const { api, user, admin, clock } = service
      const { body: file } = await upload(api, user)
      const { body: link } = await api.post(
        '/file/generate-pre-signed-url',
        { id: file.id, expiresInSeconds: 3600 },
        { token: user },
      )
      const paths = ['info', 'stream', 'download', 'thumbnail'].map(
        (at) => `/file/${at}/${file.id}`,
      )
      const statuses = async () => {
        const asked = [...paths, `/file/${file.id}/links`, `/file/presigned/${link.token}`]
        const replies = await Promise.all(asked.map((path) => api.get(path, { token: user })))
        return replies.map(({ status }) => status)
      }
      const owned = async () => {
        const list = await api.get('/file/list?page=0&size=9', { token: user })
        const { body: usage } = await api.get('/file/usage', { token: user })
        return [list.body.length, list.headers.get('x-total-count'), usage.files, usage.bytes]
      }

      const deleted = await deleteRestorably(service, file.id)

      const restorableUntil = new Date(clock().getTime() + 600_000).toISOString()
      const deletedAt = clock().toISOString()
      assert.equal(deleted.status, 200)
      assert.deepEqual(deleted.body, { ...file, deletedAt, restorableUntil })
      assert.deepEqual(new Set(await statuses()), new Set([404]))
      assert.deepEqual(await owned(), [0, '0', 0, 0])
      const again = [
        await deleteRestorably(service, file.id),
        await api.post(
          '/file/generate-pre-signed-url',
          { id: file.id, expiresInSeconds: 1 },
          { token: admin },
        ),
      ]
      assert.deepEqual(statusesOf(again), [404, 404])
      const listed = await api.get('/file/deleted', { token: user })
      assert.deepEqual([listed.body.content, listed.body.totalElements], [[deleted.body], 1])

      const restored = await restore(service, file.id)

      assert.deepEqual([restored.status, restored.body], [200, file])
      assert.deepEqual(new Set(await statuses()), new Set([200]))
      assert.deepEqual(await owned(), [1, '1', 1, SIZE])
      const { bytes } = await api.get(`/file/stream/${file.id}`, { token: user })
      assert.ok(bytes.equals(sampleFiles.png))
      assert.deepEqual(idsOf(await api.get('/file/deleted', { token: user })), [])
      assert.equal((await restore(service, file.id)).status, 404)
    })

    test('owners can restore what they deleted themselves, administrators everything', async () => {
      const service = await newcomer()
      const { api, user, admin } = service
      const stranger = await register(api, `stranger-${engine.name}`)
      const [{ body: own }, { body: taken }] = [await upload(api, user), await upload(api, user)]
      await deleteRestorably(service, own.id)
      await deleteRestorably({ api, user: admin }, taken.id)
      const deletedOf = (token: string, ownerId?: number) =>
        api.get(`/file/deleted${ownerId ? `?ownerId=${ownerId}` : ''}`, { token })

      assert.deepEqual(idsOf(await deletedOf(user)), [own.id])
      assert.deepEqual(idsOf(await deletedOf(stranger)), [])
      assert.deepEqual(idsOf(await deletedOf(admin, own.ownerId)), [taken.id, own.id])
      assert.equal((await deletedOf(stranger, own.ownerId)).status, 403)
      const refused = [
        await restore({ api, user: stranger }, own.id),
        await restore(service, taken.id),
        await restore(service, 999_999),
        await api.post(`/file/x/restore`, undefined, { token: user }),
        await api.post(`/file/${own.id}/restore`),
        await api.get('/file/deleted'),
        await api.delete(`/file/${own.id}?restorable=maybe`, { token: user }),
      ]
      assert.deepEqual(
        refused.map(({ status }) => status),
        [403, 404, 404, 400, 401, 401, 400],
      )
      assert.equal((await restore({ api, user: admin }, taken.id)).status, 200)
      const { body: audit } = await api.get('/api/audit?size=2', { token: admin })
      assert.deepEqual(
        audit.content.map(({ event, subject, reason }: AuditEntry) => [event, subject, reason]),
        [
          ['FILE_RESTORED', own.owner, `file ${taken.id}`],
          ['FILE_DELETED', own.owner, `file ${taken.id}`],
        ],
      )
    })

    test('of concurrent restores only one succeeds; concurrent deletions leave nothing behind', async () => {
      const service = await newcomer()
      const { api, user } = service
      for (let round = 0; round < 5; round++) {
        const { body: file } = await upload(api, user)
        await deleteRestorably(service, file.id)

        const restored = await Promise.all([1, 2, 3].map(() => restore(service, file.id)))
        const [removed, deleted] = await Promise.all([
          api.delete(`/file/${file.id}`, { token: user }),
          deleteRestorably(service, file.id),
        ])

        assert.deepEqual(statusesOf(restored), [200, 404, 404])
        assert.equal(removed.status, 204)
        assert.ok([200, 404].includes(deleted.status))
        assert.deepEqual(await objectsOf(service, file), [])
      }
      const { body: usage } = await api.get('/file/usage', { token: user })
      assert.deepEqual([usage.files, usage.bytes], [0, 0])
    })

    test('a file deleted again without restorable is removed for good at once', async () => {
      const service = await newcomer()
      const { api, user, admin } = service
      const remove = (token: string, id: number) => api.delete(`/file/${id}`, { token })
      const { body: own } = await upload(api, user)
      const { body: taken } = await upload(api, user)
      const stranger = await register(api, `remover-${engine.name}`)
      await deleteRestorably(service, own.id)
      await deleteRestorably({ api, user: admin }, taken.id)
      const places = async () => (await api.get('/api/storage/locations', { token: admin })).body
      const [place] = await places()

      const replies = [
        await remove(stranger, own.id),
        await remove(user, own.id),
        await remove(user, own.id),
        await restore(service, own.id),
        // The owner cannot remove what an administrator has deleted.
        await remove(user, taken.id),
        await remove(admin, taken.id),
      ]

      assert.deepEqual(
        replies.map(({ status }) => status),
        [403, 204, 404, 404, 404, 204],
      )
      assert.match(replies[3]?.body.detail, /cannot be restored any more/)
      assert.deepEqual(await objectsOf(service, own), [])
      assert.deepEqual(await objectsOf(service, taken), [])
      assert.equal((await places())[0].files, place.files - 2, 'restorable files count')
      const { body: audit } = await api.get('/api/audit?size=2', { token: admin })
      assert.deepEqual(
        audit.content.map(({ event, subject, reason }: AuditEntry) => [event, subject, reason]),
        Array(2).fill(['FILE_DELETED', own.owner, `file ${taken.id}`]),
      )
    })

    test('a restore that races with expiry or an erasure gets the whole file or nothing', async (t) => {
      const service = await newcomer()
      const { api, user, clock } = service
      const storage = await openBeside(t, service)
      // By the clock of the node that sweeps, the file has already expired.
      const ahead = { ...storage, clock: () => secondsAfter(clock(), 10 * MINUTES) }
      const erase = async (id: number) => {
        const claimed = await claimForRemoval(storage.db, id)
        if (claimed) await finishDeletion(storage, claimed)
      }
      for (let round = 0; round < 8; round++) {
        const { body: file } = await upload(api, user)
        await deleteRestorably(service, file.id)

        const [restored] = await Promise.all([
          restore(service, file.id),
          round % 2 ? finishDeletions(ahead) : erase(file.id),
        ])

        const read = await api.get(`/file/stream/${file.id}`, { token: user })
        await api.delete(`/file/${file.id}`, { token: user })
        assert.deepEqual(
          [restored.status, read.status],
          restored.status === 200 ? [200, 200] : [404, 404],
        )
        assert.equal(read.status === 200, read.bytes.equals(sampleFiles.png))
      }
    })

    test('a restore must fit the quota, and restorable files may not exceed it', async (t) => {
      const service = await newcomer()
      const { api, user, clock } = service
      const storage = await openBeside(t, service)
      const ids: number[] = []
      const deleteNext = async (id: number) => {
        await deleteRestorably(service, id)
        clock.advance(1)
      }
      for (let count = 0; count < 2; count++) {
        const { body } = await upload(api, user)
        ids.push(body.id)
        await deleteNext(body.id)
      }
      await upload(api, user)

      const replies = await Promise.all(ids.map((id) => restore(service, id)))

      assert.deepEqual(statusesOf(replies), [200, 413])
      const refused = replies.find(({ status }) => status === 413)?.body
      assert.deepEqual(
        [refused.code, refused.maxFiles, refused.maxBytes],
        ['QUOTA_EXCEEDED', 2, MAX_BYTES],
      )
      assert.match(refused.detail, /^The quota of the owner has no room for this file/)
      const { body: usage } = await api.get('/file/usage', { token: user })
      assert.deepEqual([usage.files, usage.bytes], [2, 2 * SIZE])
      assert.equal(idsOf(await api.get('/file/deleted', { token: user })).length, 1)

      const stored = (await api.get('/file/list', { token: user })).body
      for (const { id } of stored) await deleteNext(id)
      await finishDeletions(storage)
      const left = idsOf(await api.get('/file/deleted', { token: user }))
      assert.deepEqual(left, stored.map(({ id }: { id: number }) => id).reverse())
    })

    test('the byte quota counts as well, and a restore competes with an upload for the last room', async (t) => {
      const service = await newcomer()
      const { api, user, clock } = service
      const storage = await openBeside(t, service)
      const { body: small } = await upload(api, user)
      await deleteRestorably(service, small.id)
      clock.advance(1)
      const text = { name: 'large.txt', type: 'text/plain', bytes: Buffer.alloc(SIZE + 20, 'x') }
      const { body: large } = await upload(api, user, text)
      const { body: refused } = await restore(service, small.id)
      assert.equal(refused.code, 'QUOTA_EXCEEDED')
      await deleteRestorably(service, large.id)
      await finishDeletions(storage)
      assert.deepEqual(idsOf(await api.get('/file/deleted', { token: user })), [large.id])
      await api.delete(`/file/${large.id}`, { token: user })

      for (let round = 0; round < 4; round++) {
        const [{ body: kept }, { body: gone }] = [await upload(api, user), await upload(api, user)]
        await deleteRestorably(service, gone.id)

        const raced = await Promise.all([restore(service, gone.id), upload(api, user)])

        assert.deepEqual(
          raced.map(({ status }) => status).filter((status) => status === 413),
          [413],
        )
        const { body: usage } = await api.get('/file/usage', { token: user })
        assert.deepEqual([usage.files, usage.bytes], [2, 2 * SIZE])
        const ids = raced.flatMap(({ body }) => body.id ?? [])
        for (const id of new Set([kept.id, gone.id, ...ids]))
          assert.equal((await api.delete(`/file/${id}`, { token: user })).status, 204)
      }
    })

    test('an expired file cannot be restored, and its bytes and thumbnail are removed', async (t) => {
      const service = await newcomer()
      const { api, user, clock } = service
      const { body: file } = await upload(api, user)
      await api.get(`/file/thumbnail/${file.id}`, { token: user })
      const storage = await openBeside(t, service)
      await deleteRestorably(service, file.id)
      const upkeep = async () => {
        await finishDeletions(storage)
        return (await sweep(storage)).removed + (await sweep(storage)).removed
      }

      clock.advance(10 * MINUTES - 1)
      assert.equal(await upkeep(), 0)
      assert.deepEqual(new Set(await Array.fromAsync(verifyFiles(storage))), new Set(['sound']))
      assert.equal((await objectsOf(service, file)).length, 2)
      assert.deepEqual(idsOf(await api.get('/file/deleted', { token: user })), [file.id])
      clock.advance(1)
      assert.equal((await restore(service, file.id)).status, 404)
      assert.deepEqual(idsOf(await api.get('/file/deleted', { token: user })), [])
      await upkeep()

      assert.deepEqual(await objectsOf(service, file), [])
      const rows = storage.db.selectFrom('files').selectAll().where('id', '=', file.id)
      const kept = storage.db.selectFrom('restorable_files').selectAll()
      assert.deepEqual([await rows.execute(), await kept.execute()], [[], []])
    })
  })

/** The names of a file's object and thumbnail, if they exist. */
async function objectsOf(
  { root }: TestStorage,
  { storedFilename }: { storedFilename: string },
): Promise<string[]> {
  const names = await readdir(root, { recursive: true })
  return names.filter((name) => basename(name).startsWith(storedFilename))
}
