import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, sharedStorage, type TestStorage, upload } from './start-storage.ts'

type Named = { name: string }

const BAD_PATHS = [
  ...['', 'a', 'a/b', '//', '/a//b', '/.', '/a/..', '/a\\b', '/a\u0000', '/a\u0085b'],
  ...[
    `/${'é'.repeat(128)}`,
    `/${'a/'.repeat(32)}a`,
    `/${`${'a'.repeat(250)}/`.repeat(4)}${'a'.repeat(21)}`,
  ],
]

for (const engine of engines)
  describe(`folders, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)
    const create = ({ api, user: token }: TestStorage, path: string) =>
      api.post('/file/folders', { path }, { token })
    const move = ({ api, user: token }: TestStorage, from: string, to: string) =>
      api.post('/file/folders/move', { from, to }, { token })
    const remove = ({ api, user: token }: TestStorage, path: string, more = '') =>
      api.delete(`/file/folders?path=${encodeURIComponent(path)}${more}`, { token })
    const list = ({ api, user: token }: TestStorage, path: string) =>
      api.get(`/file/folders?path=${encodeURIComponent(path)}`, { token })
    const names = async (service: TestStorage, path: string) =>
      (await list(service, path)).body.folders.map(({ name }: Named) => name)
    const folderOf = async ({ api, user: token }: TestStorage, id: number) =>
      (await api.get(`/file/info/${id}`, { token })).body.folder

    test('a folder is created with those above it: 201, and 200 when it is there', async () => {
      const service = await newcomer()

      const created = await create(service, '/a/b/')
      const again = await create(service, '/a/b')
      const root = await create(service, '/')

      const { createdAt, ...folder } = created.body
      assert.deepEqual([created.status, folder], [201, { path: '/a/b', name: 'b' }])
      assert.equal(createdAt, '2030-01-01T00:00:00.000Z')
      assert.deepEqual([again.status, again.body], [200, created.body])
      assert.deepEqual([root.status, root.body.path], [200, '/'])
      assert.deepEqual((await list(service, '/a')).body, { path: '/a', folders: [created.body] })
    })

    test('folders are listed by name, case counts, and only those directly below', async () => {
      const service = await newcomer()
      for (const path of ['/b', '/a', '/a/deep', '/B', '/a0']) await create(service, path)

      const { body } = await service.api.get('/file/folders', { token: service.user })

      assert.equal(body.path, '/')
      assert.deepEqual(
        body.folders.map(({ name }: Named) => name),
        ['B', 'a', 'a0', 'b'],
      )
      assert.deepEqual(await names(service, '/a'), ['deep'])
    })

    test('a name in another normal form is the same folder', async () => {
      const service = await newcomer()
      await create(service, '/Übung')

      const again = await create(service, '/U\u0308bung')

      assert.deepEqual([again.status, again.body.path], [200, '/Übung'])
    })

    test('a bad path is 400 wherever it is given', async () => {
      const service = await newcomer()
      const { api, user: token } = service
      for (const path of BAD_PATHS) {
        const replies = [
          await create(service, path),
          await list(service, path),
          await move(service, '/a', path),
          await remove(service, path),
          await upload(api, token, { folder: path }),
        ]

        const statuses = replies.map(({ status }) => status)
        assert.deepEqual(statuses, [400, 400, 400, 400, 400], JSON.stringify(path))
      }
      const twice = await api.request('POST', '/file?folder=/a&folder=/b', { token })
      assert.equal(twice.status, 400)
      const other = await api.post('/file/folders', { path: '/\ud800' }, { token })
      assert.equal(other.status, 400)
    })

    test('a path of 32 levels, and one of 1,024 bytes, are accepted', async () => {
      const service = await newcomer()
      const part = 'a'.repeat(254)

      const deep = await create(service, '/a'.repeat(32))
      const long = await create(service, `/${part}/${part}/${part}/${part}/${'b'.repeat(3)}`)

      assert.deepEqual([deep.status, long.status], [201, 201])
    })

    test('a folder that does not exist is 404 FOLDER_NOT_FOUND', async () => {
      const service = await newcomer()

      const replies = [
        await list(service, '/none'),
        await move(service, '/none', '/other'),
        await remove(service, '/none'),
        await remove(service, '/none', '&recursive=true'),
      ]

      for (const { status, body } of replies)
        assert.deepEqual([status, body.code], [404, 'FOLDER_NOT_FOUND'])
    })

    test('an upload into a folder makes the folders that are missing', async () => {
      const service = await newcomer()

      const { status, body } = await upload(service.api, service.user, { folder: '/x/y/' })

      assert.deepEqual([status, body.folder], [201, '/x/y'])
      assert.equal(await folderOf(service, body.id), '/x/y')
      assert.deepEqual(await names(service, '/x'), ['y'])
    })

    test('a refused upload makes no folder', async () => {
      const service = await newcomer()
      const bytes = Buffer.from('not a picture')

      const { status } = await upload(service.api, service.user, { folder: '/x', bytes })

      assert.equal(status, 400)
      assert.deepEqual(await names(service, '/'), [])
    })

    test('a folder belongs to its owner: others have one of the same path, administrators too', async () => {
      const service = await newcomer()
      const other = await newcomer()
      await upload(service.api, service.user, { folder: '/same' })

      const created = await create(other, '/same')
      const asAdmin = await list({ ...service, user: service.admin }, '/same')

      assert.deepEqual([created.status, asAdmin.status], [201, 404])
    })

    test('a moved folder takes its folders and files along', async () => {
      const service = await newcomer()
      const { api, user } = service
      const inside = await upload(api, user, { folder: '/a/b' })
      const deeper = await upload(api, user, { folder: '/a/b/c' })
      const beside = await upload(api, user, { folder: '/a/bc' })

      const moved = await move(service, '/a/b', '/new/name')

      assert.deepEqual([moved.status, moved.body], [200, { path: '/new/name', files: 2 }])
      assert.equal(await folderOf(service, inside.body.id), '/new/name')
      assert.equal(await folderOf(service, deeper.body.id), '/new/name/c')
      assert.equal(await folderOf(service, beside.body.id), '/a/bc')
      assert.deepEqual(await names(service, '/a'), ['bc'])
      assert.deepEqual(await names(service, '/new/name'), ['c'])
    })

    test('the characters % and _ in a path mean nothing else', async () => {
      const service = await newcomer()
      const { api, user } = service
      for (const folder of ['/100%', '/100%/_', '/100x', '/1000'])
        await upload(api, user, { folder })

      const moved = await move(service, '/100%', '/percent')

      assert.equal(moved.body.files, 2)
      assert.deepEqual(await names(service, '/'), ['1000', '100x', 'percent'])
    })

    test('a folder is not moved onto another, into itself, or from or to /', async () => {
      const service = await newcomer()
      await create(service, '/a/b')
      await create(service, '/c')

      const replies = [
        await move(service, '/a', '/c'),
        await move(service, '/a', '/a/b/d'),
        await move(service, '/a', '/a'),
        await move(service, '/', '/d'),
        await move(service, '/a', '/'),
      ]

      assert.deepEqual(
        replies.map(({ status }) => status),
        [409, 400, 400, 400, 400],
      )
      assert.equal(replies[0]?.body.code, 'FOLDER_EXISTS')
      assert.deepEqual(await names(service, '/'), ['a', 'c'])
    })

    test('a move that would make a path below too long or too deep is 400 and changes nothing', async () => {
      const service = await newcomer()
      await create(service, `/a${'/b'.repeat(30)}`)
      await create(service, `/long/${'x'.repeat(250)}/${'x'.repeat(250)}/${'x'.repeat(250)}`)
      const name = 'é'.repeat(125)

      const deep = await move(service, '/a', '/1/2/a')
      const long = await move(service, '/long', `/${name}/${name}`)

      assert.deepEqual([deep.status, long.status], [400, 400])
      assert.deepEqual(await names(service, '/'), ['a', 'long'])
    })

    test('an empty folder is deleted: 204; another is 409 FOLDER_NOT_EMPTY', async () => {
      const service = await newcomer()
      await create(service, '/a/b')
      await upload(service.api, service.user, { folder: '/full' })

      const replies = [
        await remove(service, '/a'),
        await remove(service, '/full'),
        await remove(service, '/a/b'),
        await remove(service, '/a'),
        await remove(service, '/'),
      ]

      assert.deepEqual(
        replies.map(({ status }) => status),
        [409, 409, 204, 204, 400],
      )
      assert.equal(replies[1]?.body.code, 'FOLDER_NOT_EMPTY')
      assert.deepEqual(await names(service, '/'), ['full'])
    })

    test('with recursive=true the files go to the trash', async () => {
      const service = await newcomer()
      const { api, user: token } = service
      const inside = await upload(api, token, { folder: '/a' })
      const deeper = await upload(api, token, { folder: '/a/b' })
      const kept = await upload(api, token, { folder: '/ab' })

      const { status, body } = await remove(service, '/a', '&recursive=true')

      assert.deepEqual([status, body], [200, { files: 2 }])
      assert.deepEqual(await names(service, '/'), ['ab'])
      const { body: trash } = await api.get('/file/deleted', { token })
      const ids = trash.content.map(({ id }: { id: number }) => id)
      assert.deepEqual(ids.sort(), [inside.body.id, deeper.body.id].sort())
      const { body: usage } = await api.get('/file/usage', { token })
      assert.deepEqual([usage.files, usage.bytes], [1, kept.body.size])
    })

    test('a folder whose files are all in the trash is empty', async () => {
      const service = await newcomer()
      const { api, user: token } = service
      const { body } = await upload(api, token, { folder: '/a' })
      await api.delete(`/file/${body.id}?restorable=true`, { token })

      const { status } = await remove(service, '/a')
      const restored = await api.post(`/file/${body.id}/restore`, undefined, { token })

      assert.deepEqual([status, restored.status], [204, 200])
    })

    test('a folder with many files and folders is listed, moved and deleted as a whole', {
      tags: ['all'],
    }, async () => {
      const service = await newcomer()
      const paths = Array.from({ length: 1_200 }, (_, n) => `/many/${String(n).padStart(4, '0')}`)
      for (const path of paths) await create(service, path)
      for (const folder of paths.slice(0, 600)) await upload(service.api, service.user, { folder })

      const listed = await names(service, '/many')
      const moved = await move(service, '/many', '/all')
      const deleted = await remove(service, '/all', '&recursive=true')

      assert.deepEqual(
        listed,
        paths.map((path) => path.slice('/many/'.length)),
      )
      assert.deepEqual([moved.body.files, deleted.body.files], [600, 600])
      assert.deepEqual(await names(service, '/'), [])
    })
  })
