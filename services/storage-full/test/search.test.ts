import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { propertyRuns, sampleFiles } from '@plinth/kit/testing'
import fc from 'fast-check'
import { until } from '../../../test/until.ts'
import { storageMigrations } from '../src/database/migrations/index.ts'
import type { StorageTables } from '../src/database/tables.ts'
import { engines, sharedStorage, startStorage, type TestStorage, upload } from './start-storage.ts'

type Found = { id: number; originalFilename: string; folder: string }

const namesOf = (found: Found[]) => found.map(({ originalFilename }) => originalFilename)

for (const engine of engines)
  describe(`search, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)
    const search = (
      { api, user: token }: TestStorage,
      query: Record<string, string | string[]> = {},
    ) => {
      const pairs = Object.entries(query).flatMap(([name, values]) =>
        [values].flat().map((value): [string, string] => [name, value]),
      )
      return api.get(`/file/search?${new URLSearchParams(pairs)}`, { token })
    }
    const found = async (service: TestStorage, query: Record<string, string | string[]> = {}) =>
      namesOf((await search(service, query)).body.content)
    const put = async ({ api, user, clock }: TestStorage, names: string[], folder = '/') => {
      const ids: number[] = []
      for (const name of names) {
        clock.advance(1)
        ids.push((await upload(api, user, { name, folder })).body.id)
      }
      return ids
    }

    type Happening = 'rename' | 'delete' | 'add' | 'move'
    const happen = async (service: TestStorage, what: Happening | undefined, id: number) => {
      const { api, user: token, clock } = service
      clock.advance(1)
      const happenings = {
        rename: () => api.patch(`/file/${id}`, { originalFilename: '0.png' }, { token }),
        move: () => api.patch(`/file/${id}`, { folder: '/x' }, { token }),
        delete: () => api.delete(`/file/${id}`, { token }),
        add: () => put(service, ['b2.png']),
      }
      if (what) await happenings[what]()
    }

    test('without parameters: the own files, newest first, in every folder', async () => {
      const service = await newcomer()
      await put(service, ['one.png'])
      await put(service, ['two.png'], '/deep/er')
      await put(await newcomer(), ['other.png'])

      const { status, body } = await search(service)

      assert.equal(status, 200)
      assert.deepEqual(namesOf(body.content), ['two.png', 'one.png'])
      assert.deepEqual([body.nextCursor, body.complete], [null, true])
      const { body: info } = await service.api.get(`/file/info/${body.content[0].id}`, {
        token: service.user,
      })
      assert.deepEqual(body.content[0], info)
    })

    for (const [q, matching] of [
      ['invoice', ['Invoice_2026-04.png', 'invoices old.png']],
      ['INV 2026', ['Invoice_2026-04.png']],
      ['2026 inv', ['Invoice_2026-04.png']],
      ['voice', []],
      ['uber', ['Über uns.png']],
      ['ÜBER U', ['Über uns.png']],
      ['strasse', ['Straße.png']],
      ['STRAßE', ['Straße.png']],
      ['οδος', ['ΟΔΌΣ.png']],
      ['京', ['東京駅.png']],
      ['駅 東', ['東京駅.png']],
      ['ガ', ['がか.png'.normalize('NFD')].slice(1)],
      ['か', ['がか.png'.normalize('NFD')]],
      ['국', ['한국.png']],
      ['ｐｎｇ １', ['①.png']],
      ['png', 'all'],
      ['', 'all'],
      ['-- ! "', 'all'],
      ["' or 1=1 --", []],
      ['inv*', ['Invoice_2026-04.png', 'invoices old.png']],
      ['inv:* & old', ['invoices old.png']],
      ['NEAR(invoice old)', []],
      ['"invoice"', ['Invoice_2026-04.png', 'invoices old.png']],
      ['%', 'all'],
      ['inv_', ['Invoice_2026-04.png', 'invoices old.png']],
      ['#tag', []],
    ] as const)
      test(`q=${q}: each word begins a word of the name, in any order, without case and marks`, async () => {
        const service = await newcomer()
        const names = [
          ...['Invoice_2026-04.png', 'invoices old.png', 'Über uns.png', 'Straße.png'],
          ...['ΟΔΌΣ.png', '東京駅.png', 'がか.png'.normalize('NFD'), '한국.png', '①.png'],
        ]
        await put(service, names)

        const seen = await found(service, { q })

        assert.deepEqual(seen.sort(), (matching === 'all' ? names : [...matching]).sort())
      })

    test('folder, and what is below it with recursive=true', async () => {
      const service = await newcomer()
      await put(service, ['root.png'])
      await put(service, ['a.png'], '/a')
      await put(service, ['b.png'], '/a/b')
      await put(service, ['ab.png'], '/ab')

      assert.deepEqual(await found(service, { folder: '/' }), ['root.png'])
      assert.deepEqual(await found(service, { folder: '/a/' }), ['a.png'])
      assert.deepEqual(await found(service, { folder: '/a', recursive: 'true' }), [
        'b.png',
        'a.png',
      ])
      assert.equal((await found(service, { folder: '/', recursive: 'true' })).length, 4)
      assert.deepEqual(await found(service, { folder: '/none' }), [])
      assert.deepEqual(await found(service, { folder: '/none', recursive: 'true' }), [])
    })

    test('type, sizes and times narrow the search', async () => {
      const service = await newcomer()
      const { api, user, clock } = service
      await put(service, ['a.png'])
      const from = clock().toISOString()
      clock.advance(60)
      const text = { name: 'b.txt', type: 'text/plain', bytes: Buffer.from('hello') }
      await upload(api, user, text)
      const to = clock().toISOString()
      const bytes = String(sampleFiles.png.length)

      assert.deepEqual(await found(service, { type: 'image' }), ['a.png'])
      assert.deepEqual(await found(service, { type: 'Text/Plain' }), ['b.txt'])
      assert.deepEqual(await found(service, { type: 'tex' }), [])
      assert.deepEqual(await found(service, { minSize: bytes }), ['a.png'])
      assert.deepEqual(await found(service, { maxSize: '5', minSize: '5' }), ['b.txt'])
      assert.deepEqual(await found(service, { createdAfter: to }), ['b.txt'])
      assert.deepEqual(await found(service, { createdBefore: to }), ['a.png'])
      assert.deepEqual(await found(service, { createdAfter: from, createdBefore: to }), ['a.png'])
      assert.deepEqual(await found(service, { q: 'b', type: 'image' }), [])
    })

    test('tag: all of them, whatever their case', async () => {
      const service = await newcomer()
      const { api, user: token } = service
      const [both = 0, one = 0] = await put(service, ['both.png', 'one.png', 'none.png'])
      await api.patch(`/file/${both}`, { tags: ['Holy Days', 'Été'] }, { token })
      await api.patch(`/file/${one}`, { tags: ['été', 'x'] }, { token })

      assert.deepEqual(await found(service, { tag: 'ÉTÉ' }), ['one.png', 'both.png'])
      assert.deepEqual(await found(service, { tag: ['été', 'holy days'] }), ['both.png'])
      assert.deepEqual(await found(service, { tag: 'holy' }), [])
      assert.deepEqual(await found(service, { tag: 'x', q: 'on' }), ['one.png'])
      await api.patch(`/file/${one}`, { tags: [] }, { token })
      assert.deepEqual(await found(service, { tag: 'x' }), [])
    })

    test('a renamed file is found by its new name only, a deleted one not at all', async () => {
      const service = await newcomer()
      const { api, user: token } = service
      const [id = 0] = await put(service, ['before.png', 'gone.png'])
      await api.patch(`/file/${id}`, { originalFilename: 'after.png' }, { token })

      assert.deepEqual(await found(service, { q: 'before' }), [])
      assert.deepEqual(await found(service, { q: 'after' }), ['after.png'])
      await api.delete(`/file/${id}?restorable=true`, { token })
      assert.deepEqual(await found(service, { q: 'after' }), [])
      await api.post(`/file/${id}/restore`, undefined, { token })
      assert.deepEqual(await found(service, { q: 'after' }), ['after.png'])
      await api.delete(`/file/${id}`, { token })
      assert.deepEqual(await found(service), ['gone.png'])
    })

    test('sorts: createdAt, updatedAt, name and size, in both directions, ties by id', async () => {
      const service = await newcomer()
      const { api, user: token, clock } = service
      const [first = 0] = await put(service, ['éa.png', 'Eb.png', 'ea.png', 'z.png'])
      clock.advance(1)
      await api.patch(`/file/${first}`, { metadata: { a: 'b' } }, { token })
      const sorted = (sort: string) => found(service, { sort })

      assert.deepEqual(await sorted('createdAt,asc'), ['éa.png', 'Eb.png', 'ea.png', 'z.png'])
      assert.deepEqual(await sorted('updatedAt,desc'), ['éa.png', 'z.png', 'ea.png', 'Eb.png'])
      assert.deepEqual(await sorted('name,asc'), ['éa.png', 'ea.png', 'Eb.png', 'z.png'])
      assert.deepEqual(await sorted('name,desc'), ['z.png', 'Eb.png', 'ea.png', 'éa.png'])
      assert.deepEqual(await sorted('size,asc'), ['éa.png', 'Eb.png', 'ea.png', 'z.png'])
      assert.deepEqual(await sorted('size,desc'), ['z.png', 'ea.png', 'Eb.png', 'éa.png'])
    })

    test('a cursor continues its own search, and no other', async () => {
      const service = await newcomer()
      await put(service, ['a1.png', 'a2.png', 'a3.png'])
      const query = { q: 'a', sort: 'name,asc', size: '2' }

      const { body } = await search(service, query)
      const next = await search(service, { ...query, size: '1', cursor: body.nextCursor })
      const others = [
        await search(service, { ...query, q: 'b', cursor: body.nextCursor }),
        await search(service, { ...query, sort: 'name,desc', cursor: body.nextCursor }),
        await search(await newcomer(), { ...query, cursor: body.nextCursor }),
        await search(service, { ...query, cursor: 'forged' }),
        await search(service, { ...query, cursor: Buffer.from('[1,2]').toString('base64url') }),
      ]

      assert.deepEqual(namesOf(body.content), ['a1.png', 'a2.png'])
      assert.deepEqual([namesOf(next.body.content), next.body.nextCursor], [['a3.png'], null])
      for (const { status } of others) assert.equal(status, 400)
    })

    test('bad parameters are 400', async () => {
      const service = await newcomer()
      const bad: Record<string, string | string[]>[] = [
        ...[{ q: 'a'.repeat(201) }, { q: 'a\0' }, { q: ['a', 'b'] }, { folder: 'a' }],
        ...[{ recursive: 'yes' }, { type: 'a/b/c' }, { type: '*/*' }, { minSize: '-1' }],
        ...[{ maxSize: '1e3' }, { minSize: '99999999999999999' }, { createdAfter: 'yesterday' }],
        ...[{ createdBefore: '2026-13-01' }, { tag: '' }, { tag: 'a'.repeat(65) }],
        ...[{ tag: Array.from({ length: 21 }, (_, n) => `t${n}`) }, { sort: 'owner,asc' }],
        ...[{ sort: 'name,up' }, { sort: ['name,asc', 'size,asc'] }, { folder: ['/a', '/b'] }],
      ]
      for (const query of bad)
        assert.equal((await search(service, query)).status, 400, JSON.stringify(query))
      const unauthenticated = await service.api.get('/file/search')
      assert.equal(unauthenticated.status, 401)
    })

    test('ownerId: the own, or 403; an administrator searches one owner, or all', async () => {
      const service = await newcomer()
      const other = await newcomer()
      const asAdmin = { ...service, user: service.admin }
      const unique = `x${Math.random().toString(36).slice(2)}`
      const [id] = await put(service, [`${unique} 1.png`])
      await put(other, [`${unique} 2.png`])
      await put(service, [`${unique} 3.png`])
      const info = await service.api.get(`/file/info/${id}`, { token: service.user })
      const ownerId = String(info.body.ownerId)

      assert.equal((await search(other, { ownerId })).status, 403)
      assert.equal((await found(service, { ownerId, q: unique })).length, 2)
      assert.deepEqual(await found(asAdmin, { q: unique, ownerId }), [
        `${unique} 3.png`,
        `${unique} 1.png`,
      ])
      const { body } = await search(asAdmin, { q: unique, size: '2' })
      const rest = await search(asAdmin, { q: unique, size: '2', cursor: body.nextCursor })
      assert.deepEqual(namesOf(body.content), [`${unique} 3.png`, `${unique} 2.png`])
      assert.deepEqual(namesOf(rest.body.content), [`${unique} 1.png`])
    })

    test('a common word, a rare one, and both are found among many files, and paged', {
      tags: ['all'],
    }, async (t) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
      const { body: sample } = await upload(service.api, service.user)
      const { db, close } = await openDatabase<StorageTables>(
        STORAGE_FULL_DATABASE_URL,
        storageMigrations,
      )
      t.after(close)
      const row = await db.selectFrom('files').selectAll().executeTakeFirstOrThrow()
      const rows = Array.from({ length: 3_000 }, (_, n) => ({
        ...row,
        id: sample.id + 1 + n,
        stored_filename: `${n}.png`,
        object_name: `${n}.png`,
        folded_name: `common ${n % 7 === 0 ? 'seven' : 'other'} ${n}.png`,
        original_filename: `${n}.png`,
        words: ` common ${n % 7 === 0 ? 'seven ' : ''}number${n} `,
      }))
      for (let start = 0; start < rows.length; start += 500)
        await db
          .insertInto('files')
          .values(rows.slice(start, start + 500))
          .execute()
      const words = rows.flatMap(({ id, owner_id, words }) =>
        words
          .trim()
          .split(' ')
          .map((word) => ({ owner_id, word, file_id: id })),
      )
      for (let start = 0; start < words.length; start += 500)
        await db
          .insertInto('file_words')
          .values(words.slice(start, start + 500))
          .execute()

      const pages = async (query: Record<string, string>) => {
        const ids: number[] = []
        for (let cursor: string | null = ''; cursor !== null; ) {
          const { body } = await search(service, { ...query, ...(cursor && { cursor }) })
          ids.push(...body.content.map(({ id }: Found) => id))
          cursor = body.nextCursor
        }
        return ids
      }

      const seven = rows.filter(({ words }) => words.includes('seven')).map(({ id }) => id)
      assert.deepEqual(await pages({ q: 'common sev', sort: 'createdAt,asc' }), seven)
      assert.deepEqual(await pages({ q: 'comm number2999' }), [sample.id + 3_000])
      assert.equal((await pages({ q: 'common', size: '500', sort: 'name,asc' })).length, 3_000)
      assert.equal((await pages({ folder: '/', sort: 'size,desc', size: '300' })).length, 3_001)
      assert.deepEqual(await pages({ q: 'common seven absent' }), [])
      const { body: largest } = await search(service, { size: '1000' })
      assert.equal(largest.content.length, 500)
    })

    test('files of an earlier version are found once their words are filled in', async (t) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const first = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
      await put(first, ['Old Über.png', 'new.png'])
      const { db, close } = await openDatabase<StorageTables>(
        STORAGE_FULL_DATABASE_URL,
        storageMigrations,
      )
      t.after(close)
      await db
        .updateTable('files')
        .set({ words: null, folded_name: '' })
        .where('id', '=', 1)
        .execute()
      await db.deleteFrom('file_words').where('file_id', '=', 1).execute()

      const before = await search(first, { q: 'uber' })
      const second = await startStorage(t, first.env)
      const after = await until(
        () => search(second, { q: 'uber' }),
        ({ body }) => body.complete,
      )

      assert.deepEqual([before.body.content, before.body.complete], [[], false])
      assert.deepEqual(namesOf(after.body.content), ['Old Über.png'])
      assert.deepEqual(await found(second, { sort: 'name,asc' }), ['new.png', 'Old Über.png'])
    })

    test('files that do not change are met exactly once, whatever happens to others', {
      tags: ['property'],
    }, async () => {
      const sorts = ['createdAt', 'updatedAt', 'name', 'size'].flatMap((by) => [
        `${by},asc`,
        `${by},desc`,
      ])
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...sorts),
          fc.integer({ min: 1, max: 4 }),
          fc.array(fc.constantFrom<Happening>('rename', 'delete', 'add', 'move'), { maxLength: 6 }),
          async (sort, size, events) => {
            const service = await newcomer()
            const steady = await put(service, ['c.png', 'a.png', 'e.png', 'a.png', 'd.png'])
            const changing = await put(service, ['b.png', 'f.png', 'a.png'])
            const met: number[] = []
            let cursor: string | null = ''
            while (cursor !== null) {
              const query = { sort, size: String(size), ...(cursor && { cursor }) }
              const { body } = await search(service, query)
              met.push(...body.content.map(({ id }: Found) => id))
              cursor = body.nextCursor
              await happen(service, events.pop(), changing[events.length % changing.length] ?? 0)
            }
            for (const id of steady) assert.equal(met.filter((one) => one === id).length, 1)
          },
        ),
        { numRuns: propertyRuns(30) },
      )
    })
  })
