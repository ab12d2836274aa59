import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { sql } from 'kysely'
import { until } from '../../../test/until.ts'
import { storageMigrations } from '../src/database/migrations/index.ts'
import type { StorageDb, StorageTables } from '../src/database/tables.ts'
import { insertFolders, MAX_FOLDERS } from './many-folders.ts'
import { engines, register, startStorage, upload } from './start-storage.ts'
import { watchTurns } from './watch-turns.ts'

const FILES = 16_000
const MAX_TURN_MS = 50
/** On a virtual machine, time stolen by the host may count as ours, but not in every reading. */
const READINGS = 5
/** In bytes; the longest that a client may send. */
const LONG = Array.from({ length: 18 }, (_, n) => `${'€'.repeat(61)}${String(n).padStart(3, '0')}`)

for (const engine of engines)
  describe(`what one owner can make costly, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
      const { body: file } = await upload(service.api, service.user)
      const { db, close } = await openDatabase<StorageTables>(
        STORAGE_FULL_DATABASE_URL,
        storageMigrations,
      )
      t.after(close)
      return { ...service, db, file }
    }

    test('a search through many files with long tags that finds none holds up no other user', async (t) => {
      const { api, user: token, db, file } = await start(t)
      await api.patch(`/file/${file.id}`, { tags: LONG }, { token })
      await copyFile(db, file.id)
      const turns = watchTurns(t)

      for (const sort of ['createdAt', 'updatedAt', 'size']) {
        const readings: number[] = []
        while (readings.length < READINGS && !readings.some((ms) => ms < MAX_TURN_MS)) {
          turns.longestMs()
          const query = `tag=even&tag=odd&sort=${sort}`
          const { status, body } = await api.get(`/file/search?${query}`, {
            token,
          })
          assert.deepEqual([status, body.content, body.nextCursor], [200, [], null])
          readings.push(turns.longestMs())
        }
        assert.ok(Math.min(...readings) < MAX_TURN_MS, `${sort}: ${readings.join()} ms`)
      }
    })

    test('the longest tags take little of a row, and are found whole and in any case', async (t) => {
      const { api, user: token, db, file } = await start(t)
      const long = `${'é'.repeat(63)}x`

      await api.patch(`/file/${file.id}`, { tags: [...LONG, long, 'short'] }, { token })

      const { words } = await db.selectFrom('files').select('words').executeTakeFirstOrThrow()
      assert.ok((words ?? '').length < 1_500, `${words?.length}`)
      const found = async (tag: string) =>
        (
          await api.get(`/file/search?${new URLSearchParams({ tag })}`, {
            token,
          })
        ).body.content.length
      assert.equal(await found(long.toUpperCase()), 1)
      assert.equal(await found(long.slice(0, -1)), 0)
      assert.equal(await found('SHORT'), 1)
    })

    test('no owner has so many folders that moving them holds up the others', async (t) => {
      const { api, user: token, admin, db, root } = await start(t)
      await insertFolders(db, '2', MAX_FOLDERS - 1)
      const create = (path: string, by = token) =>
        api.post('/file/folders', { path }, { token: by })

      assert.equal((await create('/one more')).status, 201)
      const refused = await create('/too/many')
      const uploaded = await upload(api, token, { folder: '/another' })
      const changed = await api.patch('/file/1', { folder: '/a third' }, { token })

      for (const { status, body } of [refused, uploaded, changed])
        assert.deepEqual([status, body.code], [413, 'QUOTA_EXCEEDED'])
      assert.equal((await create('/one more')).status, 200)
      assert.equal((await upload(api, token, { folder: '/one more' })).status, 201)
      assert.equal((await create('/mine', admin)).status, 201)
      const objects = (await readdir(root, { recursive: true })).filter((name) =>
        name.endsWith('.png'),
      )
      assert.equal(objects.length, 2, 'what was refused has left no object')
    })

    test('one archive that is opened again and again leaves room for those of others', async (t) => {
      const { api, baseUrl, user: token, db } = await start(t)
      const large = { name: 'a.txt', type: 'text/plain', bytes: Buffer.alloc(9_000_000, 'x') }
      const { body: file } = await upload(api, token, large)
      await copyFile(db, file.id, 9_000)
      const { body: zip } = await api.post('/file/zip', { folders: ['/'] }, { token })
      const other = await register(api, 'other')
      const { body: own } = await upload(api, other)
      const { body: small } = await api.post('/file/zip', { ids: [own.id] }, { token: other })
      const open = () => openSlowly(t, baseUrl, zip.token)

      const opened = await Promise.all(Array.from({ length: 8 }, open))

      const statuses = opened.map(({ status }) => status).sort()
      assert.deepEqual(statuses, [200, 200, 200, 200, 200, 503, 503, 503])
      assert.equal((await api.get(`/file/zip/${zip.token}`)).body.code, 'TOO_MANY_DOWNLOADS')
      assert.equal((await api.get(`/file/zip/${small.token}`)).status, 200)
      for (const { leave } of opened) leave()
      await until(
        async () => (await open()).status,
        (status) => status === 200,
      )
    })

    test('the archive of one user waits for at most two of the large ones that another has asked for', async (t) => {
      const { api, baseUrl, user: token, db, file } = await start(t)
      await copyFile(db, file.id, 9_000)
      const { body: zip } = await api.post('/file/zip', { folders: ['/'] }, { token })
      const other = await register(api, 'other')
      const { body: own } = await upload(api, other)
      const { body: small } = await api.post('/file/zip', { ids: [own.id] }, { token: other })
      const answered: string[] = []
      const open = async (name: string, at: string) => {
        await openSlowly(t, baseUrl, at)
        answered.push(name)
      }

      const large = Array.from({ length: 16 }, () => open('large', zip.token))
      await Promise.race(large)
      await Promise.all([...large, open('small', small.token)])

      assert.ok(answered.indexOf('small') <= 3, answered.join(' '))
    })
  })

/** Opens an archive and reads no more than its status. */
async function openSlowly(t: TestContext, baseUrl: string, token: string) {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  t.after(() => void socket.destroy())
  socket.write(`GET /file/zip/${token} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  const [chunk] = await once(socket, 'data')
  socket.pause()
  return { status: Number(String(chunk).slice(9, 12)), leave: () => void socket.destroy() }
}

/** Half of the copies have one tag more, half another. */
async function copyFile(db: StorageDb, id: number, files = FILES): Promise<void> {
  const {
    id: _,
    words,
    ...row
  } = await db.selectFrom('files').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  for (let first = 0; first < files; first += 500) {
    const copies = Array.from({ length: 500 }, (_, n) => ({
      ...row,
      stored_filename: `${first + n}.png`,
      object_name: `${first + n}.png`,
      words: `${words}#${n % 2 ? 'odd' : 'even'} `,
    }))
    await db.insertInto('files').values(copies).execute()
  }
  await sql`insert into file_words (owner_id, word, file_id)
    select owner_id, case when words like '%#odd %' then '#odd' else '#even' end, id
    from files where id <> ${id}`.execute(db)
}
