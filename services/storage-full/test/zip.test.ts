import assert from 'node:assert/strict'
import { readdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { sampleFiles } from '@plinth/kit/testing'
import { openStorage } from '../src/app.ts'
import { sweep } from '../src/upkeep/sweep.ts'
import { engines, register, startStorage, type TestStorage, upload } from './start-storage.ts'
import { fileIdOf, textOf, tusFor } from './tus-client.ts'
import { entriesOf } from './zip-readers.ts'

for (const engine of engines)
  describe(`ZIP archives, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) => {
      const url = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL: url, ...env })
      const { api, user } = service
      const create = (body: object, token = user) => api.post('/file/zip', body, { token })
      const store = async (name: string, bytes = sampleFiles.txt, token = user) =>
        (await upload(api, token, { name, type: 'text/plain', bytes })).body.id as number
      const open = (token: string, method = 'GET') => api.request(method, `/file/zip/${token}`)
      return { ...service, create, store, open }
    }

    test('POST /file/zip makes a token with the number of files and their bytes; GET needs no user', async (t) => {
      const { create, store, open } = await start(t)
      const ids = [await store('a.txt'), await store('Grüße.txt', textOf(300_000))]

      const made = await create({ ids, name: 'Ferien' })
      const got = await open(made.body.token)
      const head = await open(made.body.token, 'HEAD')

      assert.equal(made.status, 201)
      const { token, url, ...rest } = made.body
      assert.match(token, /^[\w-]{43}$/)
      assert.equal(url, `http://localhost:8082/file/zip/${token}`)
      const bytes = 300_000 + sampleFiles.txt.length
      assert.deepEqual(rest, { expiresAt: '2030-01-01T01:00:00.000Z', files: 2, bytes })
      for (const { status, headers } of [got, head]) {
        assert.equal(status, 200)
        assert.equal(headers.get('content-type'), 'application/zip')
        assert.match(headers.get('content-disposition') ?? '', /^attachment; filename="Ferien.zip"/)
        assert.equal(headers.get('cache-control'), 'no-store')
        assert.equal(headers.get('content-length'), String(got.bytes.length))
      }
      assert.equal(head.bytes.length, 0)
      assert.deepEqual(
        (await entriesOf(t, got.bytes)).map(([name, size, date, flags]) => [
          name,
          size,
          date,
          flags,
        ]),
        [
          ['a.txt', sampleFiles.txt.length, [2030, 1, 1, 0, 0, 0], 0],
          ['Grüße.txt', 300_000, [2030, 1, 1, 0, 0, 0], 0x800],
        ],
      )
    })

    test('refuses in this order: 401, 400, 404, 403; and over STORAGE_FULL_ZIP_FILES 413', async (t) => {
      const { api, admin, user, create, store } = await start(t, { STORAGE_FULL_ZIP_FILES: '3' })
      const mallory = await register(api, 'mallory')
      const id = await store('a.txt')
      const others = [await store('b.txt'), await store('c.txt'), await store('d.txt')]

      const none = await api.post('/file/zip', { ids: [id] })
      const bad = []
      for (const body of [
        {},
        { ids: [] },
        { ids: null },
        { ids: ['1'] },
        { ids: [0] },
        { ids: [1.5] },
        { ids: [id], name: '' },
        { ids: [id], name: 'a/b' },
        { ids: [id], name: 'a\u0000' },
        { ids: [id], name: '\ud800' },
        { ids: [id], expiresInSeconds: 0 },
        { ids: [id], expiresInSeconds: 604_801 },
      ])
        bad.push((await create(body)).status)
      const unknown = await create({ ids: [id, 999_999] }, mallory)
      const foreign = await create({ ids: [id] }, mallory)
      const large = await create({ ids: [id, ...others] })
      const repeated = await create({ ids: [id, id, id, id] })
      const byAdmin = await create({ ids: [id] }, admin)
      await api.delete(`/file/${id}?restorable=true`, { token: user })
      const deleted = await create({ ids: [id] })

      assert.equal(none.status, 401)
      assert.deepEqual(new Set(bad), new Set([400]))
      assert.deepEqual([unknown.status, unknown.body.code], [404, 'FILE_NOT_FOUND'])
      assert.equal(foreign.status, 403)
      assert.deepEqual([large.status, large.body.code], [413, 'ZIP_TOO_LARGE'])
      assert.equal(large.body.maxFiles, 3)
      assert.deepEqual([repeated.status, repeated.body.files], [201, 1])
      assert.equal(byAdmin.status, 201)
      assert.equal(deleted.status, 404)
    })

    test('a token works until it expires, and until its maker revokes it; others cannot', async (t) => {
      const { api, admin, user, clock, create, store, open } = await start(t)
      const ids = [await store('a.txt')]
      const mallory = await register(api, 'mallory')
      const first = (await create({ ids, expiresInSeconds: 60 })).body.token
      const second = (await create({ ids })).body.token
      const revoke = async (token: string, by: string) =>
        (await api.delete(`/file/zip/${token}`, { token: by })).status

      clock.advance(59)
      const inTime = await open(first)
      clock.advance(1)
      const late = await open(first)
      const byOthers = [await revoke(second, mallory), await revoke(second, admin)]
      const still = await open(second)
      const byMaker = [await revoke(second, user), await revoke(second, user)]
      const gone = [await open(second), await open(second, 'HEAD')]

      assert.equal(inTime.status, 200)
      assert.deepEqual([late.status, late.body.code], [404, 'ZIP_NOT_FOUND'])
      assert.deepEqual(byOthers, [404, 404])
      assert.equal(still.status, 200)
      assert.deepEqual(byMaker, [204, 404])
      assert.deepEqual(
        gone.map(({ status }) => status),
        [404, 404],
      )
      for (const forged of [`${second.slice(1)}A`, 'x', '%00', 'a'.repeat(5_000)])
        assert.equal((await open(forged)).status, 404)
    })

    test('an archive holds what is there at that moment', async (t) => {
      const { api, user, create, store, open } = await start(t)
      const ids = [await store('a.txt'), await store('b.txt')]
      const { token } = (await create({ ids })).body
      await api.delete(`/file/${ids[0]}`, { token: user })

      const one = await open(token)
      await api.delete(`/file/${ids[1]}?restorable=true`, { token: user })
      const none = await open(token)

      assert.deepEqual(
        (await entriesOf(t, one.bytes)).map(([name]) => name),
        ['b.txt'],
      )
      assert.deepEqual([none.status, none.bytes.length], [200, 22])
    })

    test('a token is worth what its maker may read now: a former administrator loses the files of others, a disabled maker all', async (t) => {
      const { api, admin, create, store, open } = await start(t)
      const helper = await register(api, 'helper')
      const { body: me } = await api.get('/api/users/me', { token: helper })
      const change = (body: object) => api.patch(`/api/users/${me.id}`, body, { token: admin })
      await change({ roles: ['ROLE_ADMIN'] })
      const ids = [await store('theirs.txt'), await store('own.txt', sampleFiles.txt, helper)]
      const { token } = (await create({ ids }, helper)).body
      const names = async () =>
        (await entriesOf(t, (await open(token)).bytes)).map(([name]) => name)

      const before = await names()
      await change({ roles: ['ROLE_USER'] })
      const after = await names()
      await change({ enabled: false })
      const disabled = await open(token)

      assert.deepEqual(before, ['theirs.txt', 'own.txt'])
      assert.deepEqual(after, ['own.txt'])
      assert.equal(disabled.status, 404)
    })

    test('folders come with all that is in them, by their last name; empty ones too, and nothing twice', async (t) => {
      const { api, user, create, open } = await start(t)
      const place = async (name: string, folder: string) => {
        const body = new FormData()
        body.append('file', new Blob(['text'], { type: 'text/plain' }), name)
        const path = `/file?folder=${encodeURIComponent(folder)}`
        return (await api.request('POST', path, { token: user, body })).body.id as number
      }
      const make = (path: string) => api.post('/file/folders', { path }, { token: user })
      const loose = await place('loose.txt', '/')
      const inside = await place('1.txt', '/x/a')
      await place('1.txt', '/x/a')
      await place('2.txt', '/x/a/größe')
      await place('3.txt', '/y/a')
      await place('4.txt', '/x/ab')
      await make('/x/a/empty/inner')
      const namesOf = async (body: object) => {
        const made = await create(body)
        assert.equal(made.status, 201, JSON.stringify(made.body))
        const { bytes, headers } = await open(made.body.token)
        const entries = await entriesOf(t, bytes)
        assert.equal(made.body.files, entries.filter(([name]) => !name.endsWith('/')).length)
        return { names: entries.map(([name]) => name), headers, token: made.body.token }
      }

      const a = await namesOf({ folders: ['/x/a/'] })
      const twoOfOneName = await namesOf({
        ids: [loose, inside],
        folders: ['/x/a', '/y/a', '/x/a/größe'],
      })
      const all = await namesOf({ folders: ['/', '/x'] })
      const missing = await create({ folders: ['/x/a', '/none'] })
      const bad = [await create({ folders: ['x'] }), await create({ folders: ['/../x'] })]
      await api.post('/file/folders/move', { from: '/x/a', to: '/moved' }, { token: user })
      const moved = await entriesOf(t, (await open(a.token)).bytes)
      await api.delete('/file/folders?path=/moved&recursive=true', { token: user })
      const gone = await open(a.token)

      const inA = ['a/empty/inner/', 'a/1.txt', 'a/1 (2).txt', 'a/größe/2.txt']
      assert.deepEqual(a.names, inA)
      assert.match(a.headers.get('content-disposition') ?? '', /filename="a.zip"/)
      assert.deepEqual(twoOfOneName.names, ['loose.txt', ...inA, 'a (2)/3.txt'])
      assert.deepEqual(all.names, [
        'x/a/empty/inner/',
        'loose.txt',
        'x/a/1.txt',
        'x/a/1 (2).txt',
        'x/a/größe/2.txt',
        'x/ab/4.txt',
        'y/a/3.txt',
      ])
      assert.deepEqual([missing.status, missing.body.code], [404, 'FOLDER_NOT_FOUND'])
      for (const { status } of bad) assert.equal(status, 400)
      assert.deepEqual(
        moved.map(([name]) => name),
        inA.map((name) => name.replace(/^a/, 'moved')),
      )
      assert.equal(gone.bytes.length, 22)
    })

    test('a folder is the caller’s own, and counts in STORAGE_FULL_ZIP_FILES', async (t) => {
      const { api, admin, user, create } = await start(t, { STORAGE_FULL_ZIP_FILES: '2' })
      for (const path of ['/a/1', '/b/1', '/b/2'])
        await api.post('/file/folders', { path }, { token: user })
      const place = (folder: string) => {
        const body = new FormData()
        body.append('file', new Blob(['text'], { type: 'text/plain' }), 'a.txt')
        return api.request('POST', `/file?folder=${folder}`, { token: user, body })
      }
      for (let count = 0; count < 3; count++) await place('/c')
      await place('/a')

      const good = await create({ folders: ['/a'] })
      const tooManyFolders = await create({ folders: ['/b'] })
      const tooManyFiles = await create({ folders: ['/c'] })
      const byAdmin = await create({ folders: ['/a'] }, admin)

      assert.deepEqual([good.status, good.body.files], [201, 1])
      assert.deepEqual([tooManyFolders.status, tooManyFiles.status], [413, 413])
      assert.deepEqual([byAdmin.status, byAdmin.body.code], [404, 'FOLDER_NOT_FOUND'])
    })

    test('repeated names are numbered, also when only their case differs', async (t) => {
      const { create, store, open } = await start(t)
      const names = ['n.txt', 'n.txt', 'N.txt', 'n (2).txt', 'n.txt']
      const ids = []
      for (const name of names) ids.push(await store(name))
      const { token } = (await create({ ids })).body

      const entries = await entriesOf(t, (await open(token)).bytes)

      assert.deepEqual(
        entries.map(([name]) => name),
        ['n.txt', 'n (2).txt', 'N (3).txt', 'n (2) (2).txt', 'n (4).txt'],
      )
    })

    test('form and tus uploads keep their CRC-32; files of an earlier version get theirs when they are first archived', async (t) => {
      const service = await start(t)
      const { api, user, create, store, open } = service
      const tus = tusFor(api, user)
      const location = (await tus.create({ length: 200_000 })).headers.get('location') ?? ''
      await tus.patch(location, 0, textOf(100_000))
      const resumed = fileIdOf(await tus.patch(location, 100_000, textOf(100_000)))
      const ids = [await store('a.txt'), await store('b.txt', textOf(500_000)), resumed]
      const db = await databaseOf(t, service)
      const crcs = async () =>
        (await db.selectFrom('files').select('crc32').orderBy('id').execute()).map(
          ({ crc32 }) => crc32,
        )
      const stored = await crcs()
      await db.updateTable('files').set({ crc32: null }).execute()
      const { token } = (await create({ ids })).body

      const [first, second] = [await open(token), await open(token)]

      assert.ok(stored.every((crc) => typeof crc === 'number'))
      const described = (await entriesOf(t, first.bytes)).map(([, size, , flags]) => [
        size,
        flags & 8,
      ])
      assert.deepEqual(described, [
        [200_000, 8],
        [sampleFiles.txt.length, 8],
        [500_000, 8],
      ])
      assert.deepEqual(await crcs(), stored)
      assert.ok((await entriesOf(t, second.bytes)).every(([, , , flags]) => (flags & 8) === 0))
      assert.equal(first.headers.get('content-length'), String(first.bytes.length))
      assert.equal(first.bytes.length - second.bytes.length, 3 * 16)
    })

    test('unreadable bytes cut the connection: gone, fewer, more, or others', async (t) => {
      const service = await start(t)
      const { create, store, open, root } = service
      const ids = [
        await store('a.txt'),
        await store('b.txt', textOf(400_000)),
        await store('c.txt'),
      ]
      const { token } = (await create({ ids })).body
      const whole = (await open(token)).bytes.length
      const path = await largestIn(root)
      const content = await readFile(path)
      const damage: [string, () => Promise<void>][] = [
        ['fewer', () => writeFile(path, content.subarray(0, 399_999))],
        ['others', () => writeFile(path, Buffer.alloc(400_000, 'x'))],
        ['gone', () => unlink(path)],
      ]

      for (const [name, apply] of damage) {
        await apply()
        const { status, received, isComplete } = await download(service, token)
        assert.equal(status, 200, name)
        assert.equal(isComplete, false, name)
        assert.ok(received < whole, name)
      }
    })

    test('a client that leaves closes what is being read', async (t) => {
      const service = await start(t)
      const { create, store, open, server } = service
      const { token } = (await create({ ids: [await store('a.txt', textOf(30_000_000))] })).body

      await leaveEarly(service, token)
      const families = await server.metrics.read()

      const sent = families.find(({ name }) => name === 'plinth_zip_bytes_total')?.samples[0]
      assert.ok(sent && 'value' in sent && sent.value > 0 && sent.value < 30_000_000)
      assert.equal((await open(token)).bytes.length > 30_000_000, true)
    })

    test('the sweeper removes expired tokens; a maker has at most a thousand', async (t) => {
      const service = await start(t)
      const { create, store, clock, config } = service
      const ids = [await store('a.txt')]
      await create({ ids, expiresInSeconds: 60 })
      const db = await databaseOf(t, service)
      const [row] = await db.selectFrom('zip_tokens').selectAll().execute()
      assert.ok(row)
      await db
        .insertInto('zip_tokens')
        .values(Array.from({ length: 999 }, (_, index) => ({ ...row, token_hash: `x${index}` })))
        .execute()

      const refused = await create({ ids })
      clock.advance(60)
      const accepted = await create({ ids })
      const { storage, database } = await openStorage(config, {
        clock,
        log: createLogger('zip', 'silent'),
      })
      t.after(() => database.close())
      await sweep(storage)
      const left = await db.selectFrom('zip_tokens').select('token_hash').execute()

      assert.deepEqual([refused.status, refused.body.code], [429, 'TOO_MANY_ZIPS'])
      assert.equal(accepted.status, 201)
      assert.equal(left.length, 1)
      assert.notEqual(left[0]?.token_hash, accepted.body.token)
    })
  })

async function databaseOf(t: TestContext, { config, clock }: TestStorage) {
  const log = createLogger('zip', 'silent')
  const { storage, database } = await openStorage(config, { clock, log })
  t.after(() => database.close())
  return storage.db
}

async function largestIn(root: string): Promise<string> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sized = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name)
      return { path, size: (await readFile(path)).length }
    }),
  )
  return sized.sort((one, other) => other.size - one.size)[0]?.path ?? ''
}

/** A download that does not hide how it ended. */
function download({ baseUrl }: TestStorage, token: string) {
  const { promise, resolve } = Promise.withResolvers<{
    status: number | undefined
    received: number
    isComplete: boolean
  }>()
  const asked = request(`${baseUrl}/file/zip/${token}`, (reply) => {
    let received = 0
    reply.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    reply.on('error', () => {})
    reply.on('close', () =>
      resolve({ status: reply.statusCode, received, isComplete: reply.complete }),
    )
  })
  asked.end()
  return promise
}

/** Reads a little and closes the connection. */
async function leaveEarly({ baseUrl }: TestStorage, token: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const asked = request(`${baseUrl}/file/zip/${token}`, (reply) => {
    reply.once('data', () => asked.destroy())
    reply.on('error', () => {})
    reply.on('close', () => resolve())
  })
  asked.on('error', () => {})
  asked.end()
  await promise
}
