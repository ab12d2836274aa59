import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import type { ApiReply } from '@plinth/kit/testing'
import { storageMigrations } from '../src/database/migrations/index.ts'
import type { StorageTables } from '../src/database/tables.ts'
import { bothEngines, startStorage, type TestStorage, upload } from './start-storage.ts'

const ROUNDS = 5

// The engines decide differently who changes a row first.
for (const engine of bothEngines)
  describe(`folders at two nodes, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const here = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
      const there = { ...(await startStorage(t, here.env)), user: here.user }
      const { db, close } = await openDatabase<StorageTables>(
        STORAGE_FULL_DATABASE_URL,
        storageMigrations,
      )
      t.after(close)
      /** Every folder has its parent, and every stored file a folder that exists. */
      const requireWhole = async () => {
        const folders = await db.selectFrom('folders').selectAll().execute()
        const byId = new Map(folders.map(({ id, path }) => [id, path]))
        for (const { path, parent_id } of folders)
          assert.equal(
            path.slice(0, path.lastIndexOf('/')) || null,
            parent_id === null ? null : byId.get(parent_id),
            path,
          )
      }
      return { here, there, requireWhole }
    }
    const create = ({ api, user: token }: TestStorage, path: string) =>
      api.post('/file/folders', { path }, { token })
    const move = ({ api, user: token }: TestStorage, from: string, to: string) =>
      api.post('/file/folders/move', { from, to }, { token })
    const remove = ({ api, user: token }: TestStorage, path: string, more = '') =>
      api.delete(`/file/folders?path=${path}${more}`, { token })
    const statuses = (replies: ApiReply[]) => replies.map(({ status }) => status).sort()

    test('one of several creators of a folder gets 201, the others 200', async (t) => {
      const { here, there, requireWhole } = await start(t)
      for (let round = 0; round < ROUNDS; round++) {
        const nodes = [here, there, here, there]

        const replies = await Promise.all(nodes.map((node) => create(node, `/a/${round}/b/c`)))

        assert.deepEqual(statuses(replies), [200, 200, 200, 201])
        await requireWhole()
      }
    })

    test('uploads at once into a folder that is missing all succeed, into the same folder', async (t) => {
      const { here, there, requireWhole } = await start(t)
      const nodes = [here, there, here, there]

      const replies = await Promise.all(
        nodes.map(({ api, user }) => upload(api, user, { folder: '/new/one' })),
      )

      assert.deepEqual(statuses(replies), [201, 201, 201, 201])
      await requireWhole()
      const found = await here.api.get('/file/search?folder=/new/one', { token: here.user })
      assert.equal(found.body.content.length, 4)
    })

    test('two folders moved into each other: one move succeeds', async (t) => {
      const { here, there, requireWhole } = await start(t)
      for (let round = 0; round < ROUNDS; round++) {
        await create(here, `/x${round}/in`)
        await create(here, `/y${round}/in`)

        const replies = await Promise.all([
          move(here, `/x${round}`, `/y${round}/in/x`),
          move(there, `/y${round}`, `/x${round}/in/y`),
        ])

        assert.equal(statuses(replies)[0], 200)
        await requireWhole()
      }
    })

    test('two folders moved to one path: one 200, one 409', async (t) => {
      const { here, there, requireWhole } = await start(t)
      for (let round = 0; round < ROUNDS; round++) {
        await Promise.all([create(here, `/a${round}`), create(there, `/b${round}`)])

        const replies = await Promise.all([
          move(here, `/a${round}`, `/to/${round}`),
          move(there, `/b${round}`, `/to/${round}`),
        ])

        assert.deepEqual(statuses(replies), [200, 409])
        await requireWhole()
      }
    })

    test('a folder deleted while files arrive: a stored file always has its folder', async (t) => {
      const { here, there, requireWhole } = await start(t)
      for (let round = 0; round < ROUNDS; round++) {
        await create(here, '/busy')

        const [uploaded, deleted] = await Promise.all([
          upload(here.api, here.user, { folder: '/busy' }),
          remove(there, '/busy'),
        ])

        assert.equal(uploaded.status, 201)
        assert.ok([204, 409].includes(deleted.status), `${deleted.status}`)
        await requireWhole()
        const info = await here.api.get(`/file/info/${uploaded.body.id}`, { token: here.user })
        assert.equal(info.body.folder, '/busy')
        await here.api.delete(`/file/${uploaded.body.id}`, { token: here.user })
      }
    })

    test('a recursive deletion while files, folders and moves arrive leaves a whole tree', async (t) => {
      const { here, there, requireWhole } = await start(t)
      for (let round = 0; round < ROUNDS; round++) {
        const file = await upload(here.api, here.user, { folder: '/tree/deep' })
        const id = file.body.id

        const replies = await Promise.all([
          remove(there, '/tree', '&recursive=true'),
          upload(here.api, here.user, { folder: '/tree/deep/er' }),
          create(there, '/tree/more'),
          move(here, '/tree/deep', `/kept${round}`),
          here.api.patch(`/file/${id}`, { folder: '/tree/moved' }, { token: here.user }),
        ])

        for (const { status, body } of replies) assert.ok(status < 500, JSON.stringify(body))
        await requireWhole()
        const { body } = await here.api.get('/file/list', { token: here.user })
        for (const { folder } of body) {
          const listed = await here.api.get(`/file/folders?path=${folder}`, { token: here.user })
          assert.equal(listed.status, 200, folder)
        }
      }
    })
  })
