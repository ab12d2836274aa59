import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bothEngines, sharedStorage, upload } from './start-storage.ts'

const FILES = 30
const BYTES_EACH = 20 * 1024 * 4
const MAX_PAGE_BYTES = 2 * 1024 * 1024
const metadata = Object.fromEntries(
  Array.from({ length: 20 }, (_, n) => [`k${n}`, '😀'.repeat(1024)]),
)

for (const engine of bothEngines)
  describe(`files with as much metadata as allowed, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)
    /** The last of them has no metadata. */
    const start = async () => {
      const { api, user: token, clock } = await newcomer()
      const ids: number[] = []
      for (let n = 0; n <= FILES; n++) {
        clock.advance(1)
        const { id } = (await upload(api, token)).body
        if (n < FILES) await api.patch(`/file/${id}`, { metadata }, { token })
        ids.unshift(id)
      }
      return { api, token, ids }
    }
    const idsOf = (files: { id: number }[]) => files.map(({ id }) => id)

    test('a page of a search ends before it becomes too large, and the next goes on there', async () => {
      const { api, token, ids } = await start()

      const pages: number[][] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const after: string = cursor && `&cursor=${cursor}`
        const { body } = await api.get(`/file/search?size=500${after}`, { token })
        pages.push(idsOf(body.content))
        cursor = body.nextCursor
      }

      assert.deepEqual(pages.flat(), ids)
      const most = Math.floor(MAX_PAGE_BYTES / BYTES_EACH)
      assert.ok(pages.length === 2 && pages.every(({ length }) => length <= most + 1), `${pages}`)
    })

    test('a page of a search has at least one file, and no cursor when it is the last', async () => {
      const { api, token, ids } = await start()

      const { body } = await api.get('/file/search?size=1', { token })
      const few = await api.get(`/file/search?size=500&q=picture&minSize=1`, { token })

      assert.deepEqual([idsOf(body.content), typeof body.nextCursor], [ids.slice(0, 1), 'string'])
      assert.equal(typeof few.body.nextCursor, 'string')
    })

    test('a page of deleted files is sent as it is read, with every file once', async () => {
      const { api, token, ids } = await start()
      for (const id of ids) await api.delete(`/file/${id}?restorable=true`, { token })

      const { headers, body } = await api.get('/file/deleted?size=40', { token })

      assert.equal(headers.get('content-length'), null)
      assert.deepEqual(idsOf(body.content).sort(), [...ids].sort())
      assert.deepEqual([body.numberOfElements, body.totalElements], [ids.length, ids.length])
      const { body: last } = await api.get('/file/deleted?page=1&size=20', { token })
      assert.deepEqual([last.content.length, last.last, last.empty], [ids.length - 20, true, false])
    })

    test('lists have every file of their page once, newest first', async () => {
      const { api, token, ids } = await start()
      const list = async (query: string) =>
        idsOf((await api.get(`/file/list${query}`, { token })).body)

      assert.deepEqual(await list(''), ids)
      assert.deepEqual(await list('?size=2000'), ids)
      assert.deepEqual(await list('?page=1&size=14'), ids.slice(14, 28))
      assert.deepEqual(await list('?page=9&size=14'), [])
    })
  })
