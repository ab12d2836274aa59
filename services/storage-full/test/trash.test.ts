import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import type { Api } from '@plinth/kit/testing'
import { openStorage } from '../src/app.ts'
import { finishDeletions } from '../src/upkeep/sweep.ts'
import { replace, TEXT, versionsOf } from './replace-file.ts'
import {
  engines,
  register,
  sharedStorage,
  startStorage,
  type TestStorage,
} from './start-storage.ts'

const DAYS = 86_400

const textOf = (length: number) => Buffer.alloc(length, 'a')

type Stored = { id: number; ownerId: number }
type Owner = { api: Api; user: string }

async function store({ api, user }: Owner, name: string, { folder = '/', length = 10 } = {}) {
  const body = new FormData()
  body.append('file', new Blob([new Uint8Array(textOf(length))], { type: TEXT.type }), name)
  const path = `/file?folder=${encodeURIComponent(folder)}`
  return (await api.request('POST', path, { token: user, body })).body as Stored
}

const trash = ({ api, user }: Owner, { id }: Stored) =>
  api.delete(`/file/${id}?restorable=true`, { token: user })

const restore = ({ api, user }: Owner, { id }: Stored) =>
  api.post(`/file/${id}/restore`, undefined, { token: user })

async function trashed({ api, user }: Owner, query = ''): Promise<number[]> {
  const { body } = await api.get(`/file/deleted${query}`, { token: user })
  return body.content.map(({ id }: Stored) => id)
}

const empty = ({ api, user }: Owner, query = '') =>
  api.delete(`/file/deleted${query}`, { token: user })

/** Runs the job of a service that is running. */
async function runJob(t: TestContext, { config, clock }: TestStorage): Promise<void> {
  const log = createLogger('trash', 'silent')
  const { storage, database } = await openStorage(config, { clock, log })
  t.after(async () => {
    storage.providers.close()
    await database.close()
  })
  await finishDeletions(storage)
}

for (const engine of engines) {
  describe(`the trash, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine, { STORAGE_FULL_VERSIONS: '1' })

    test('a deleted file stays 30 days in the trash, without counting in the usage', async () => {
      const owner = await newcomer()
      const file = await store(owner, 'a.txt')
      await replace(owner.api, owner.user, file.id, { bytes: textOf(20) })

      const { body } = await trash(owner, file)

      const lasts = Date.parse(body.restorableUntil) - Date.parse(body.deletedAt)
      assert.equal(lasts, 30 * DAYS * 1000)
      const { body: usage } = await owner.api.get('/file/usage', { token: owner.user })
      const { files, bytes, trashFiles, trashBytes, versionBytes } = usage
      assert.deepEqual([files, bytes, trashFiles, trashBytes, versionBytes], [0, 0, 1, 30, 0])
    })

    test('emptying the trash removes for good what the caller could restore, and nothing of others', async () => {
      const owner = await newcomer()
      const { api, user, admin } = owner
      const other = { api, user: await register(api, `other-trash-${engine.name}`) }
      const [mine, kept, taken] = [
        await store(owner, 'a.txt'),
        await store(owner, 'b.txt'),
        await store(owner, 'c.txt'),
      ]
      const theirs = await store(other, 'd.txt')
      await replace(api, user, mine.id, { bytes: textOf(20) })
      await trash(owner, mine)
      await trash({ api, user: admin }, taken)
      await trash(other, theirs)

      const emptied = await empty(owner)

      assert.equal(emptied.status, 200)
      assert.deepEqual(emptied.body, { files: 1, bytes: 30 })
      assert.deepEqual((await empty(owner)).body, { files: 0, bytes: 0 })
      assert.equal((await restore(owner, mine)).status, 404)
      assert.deepEqual(await trashed(other), [theirs.id])
      assert.equal((await restore({ api, user: admin }, taken)).status, 200)
      assert.equal((await api.get(`/file/info/${kept.id}`, { token: user })).status, 200)
    })

    test('an administrator empties the own trash, and that of another owner only by naming the owner', async () => {
      const owner = await newcomer()
      const { api, user, admin } = owner
      const stranger = { api, user: await register(api, `stranger-trash-${engine.name}`) }
      const file = await store(owner, 'a.txt')
      await trash(owner, file)

      const refused = await empty(stranger, `?ownerId=${file.ownerId}`)
      const own = await empty({ api, user: admin })
      const before = await trashed(owner)
      const named = await empty({ api, user: admin }, `?ownerId=${file.ownerId}`)

      assert.equal(refused.status, 403)
      assert.deepEqual(own.body, { files: 0, bytes: 0 })
      assert.deepEqual(before, [file.id])
      assert.deepEqual(named.body, { files: 1, bytes: 10 })
      assert.deepEqual(await trashed({ api, user }), [])
      const { body } = await api.get('/api/audit?event=TRASH_EMPTIED', { token: admin })
      assert.equal(body.content[0].reason, '1 files')
      const twice = await empty({ api, user: admin }, '?ownerId=1&ownerId=2')
      assert.equal(twice.status, 400)
    })

    test('a restored file is back in its folder, which is made again, with tags, versions and links', async () => {
      const owner = await newcomer()
      const { api, user } = owner
      const file = await store(owner, 'a.txt', { folder: '/x/y' })
      await api.patch(`/file/${file.id}`, { tags: ['one'] }, { token: user })
      await replace(api, user, file.id, { bytes: textOf(20) })
      const wanted = { id: file.id, expiresInSeconds: 3600 }
      const { body: link } = await api.post('/file/generate-pre-signed-url', wanted, {
        token: user,
      })
      await trash(owner, file)
      const removed = await api.delete('/file/folders?path=/x&recursive=true', { token: user })
      const { body: list } = await api.get('/file/deleted', { token: user })

      const restored = await restore(owner, file)

      assert.equal(removed.status, 200)
      assert.equal(list.content[0].folder, '/x/y')
      assert.equal(restored.status, 200)
      const { folder, tags, version } = restored.body
      assert.deepEqual([folder, tags, version], ['/x/y', ['one'], 2])
      assert.deepEqual(await versionsOf(api, user, file.id), [2, 1])
      assert.equal((await api.get(`/file/presigned/${link.token}`)).status, 200)
      const { body: folders } = await api.get('/file/folders?path=/x', { token: user })
      assert.deepEqual(
        folders.folders.map(({ path }: { path: string }) => path),
        ['/x/y'],
      )
    })

    test('a folder in the trash that was moved meanwhile is where the file comes back', async () => {
      const owner = await newcomer()
      const { api, user } = owner
      const file = await store(owner, 'a.txt', { folder: '/from' })
      await trash(owner, file)
      await api.post('/file/folders/move', { from: '/from', to: '/to' }, { token: user })

      const restored = await restore(owner, file)

      assert.deepEqual([restored.status, restored.body.folder], [200, '/to'])
    })

    test('deleted files are found by words of their names and by their folder', async () => {
      const owner = await newcomer()
      const { api, user } = owner
      const one = await store(owner, 'Über Rechnung.txt', { folder: '/a' })
      const two = await store(owner, 'invoice 2026.txt')
      for (const file of [one, two]) await trash(owner, file)
      const find = (query: string) => trashed(owner, query)

      assert.deepEqual(await find('?q=rech%20uber'), [one.id])
      assert.deepEqual(await find('?q=INV'), [two.id])
      assert.deepEqual(await find('?q=voice'), [])
      assert.deepEqual(await find(`?q=${encodeURIComponent('%_\' "*')}`), [two.id, one.id])
      assert.deepEqual(await find('?folder=/a'), [one.id])
      assert.deepEqual(await find('?folder=/&q=2026'), [two.id])
      const statuses = []
      for (const query of [
        `q=${'a'.repeat(201)}`,
        'q=%00',
        'q=a&q=b',
        'folder=a',
        'folder=/a&folder=/b',
      ])
        statuses.push((await api.get(`/file/deleted?${query}`, { token: user })).status)
      assert.deepEqual(statuses, [400, 400, 400, 400, 400])
    })
  })

  describe(`the size of the trash, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string>) =>
      startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t), ...env })

    test('without a quota, files beyond STORAGE_FULL_TRASH_BYTES leave, the oldest first', async (t) => {
      const service = await start(t, { STORAGE_FULL_TRASH_BYTES: '25' })
      const files = []
      for (const name of ['a.txt', 'b.txt', 'c.txt']) {
        const file = await store(service, name)
        files.push(file.id)
        await trash(service, file)
        service.clock.advance(1)
      }

      await runJob(t, service)

      assert.deepEqual(await trashed(service), [files[2], files[1]])
      const objects = await service.api.get('/file/usage', { token: service.user })
      assert.deepEqual([objects.body.trashFiles, objects.body.trashBytes], [2, 20])
    })

    test('the quota is the cap if there is one; versions count; without either there is none', async (t) => {
      const service = await start(t, {
        STORAGE_FULL_USER_BYTES: '100',
        STORAGE_FULL_TRASH_BYTES: '1',
        STORAGE_FULL_VERSIONS: '1',
      })
      const first = await store(service, 'a.txt', { length: 40 })
      await replace(service.api, service.user, first.id, { bytes: textOf(40) })
      await trash(service, first)
      await runJob(t, service)
      const alone = await trashed(service)
      service.clock.advance(1)
      const second = await store(service, 'b.txt', { length: 30 })
      await trash(service, second)

      await runJob(t, service)

      assert.deepEqual(alone, [first.id])
      assert.deepEqual(await trashed(service), [second.id])
    })
  })
}
