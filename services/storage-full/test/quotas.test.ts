import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { inTransaction, openDatabase } from '@plinth/kit/database'
import { type ApiReply, sampleFiles } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { storageMigrations } from '../src/database/migrations/index.ts'
import type { StorageTables } from '../src/database/tables.ts'
import { uploadEvent } from '../src/files/events.ts'
import { insertFile } from '../src/files/usage/counted-files.repository.ts'
import { requireActiveLocation } from '../src/locations/locations.ts'
import { bothEngines, register, startStorage, type TestStorage, upload } from './start-storage.ts'

const SIZE = sampleFiles.png.length
const FILE = {
  ownerId: '2',
  ownerName: 'user',
  originalFilename: 'a.txt',
  extension: 'txt',
  contentType: 'text/plain',
  sizeBytes: 10,
  crc32: null,
  checksumSha256: '',
  createdAt: '2026-01-01T00:00:00.000Z',
}
const NONE = {
  ...{ maxFiles: null, maxBytes: null, uploadingFiles: 0, uploadingBytes: 0 },
  ...{ trashFiles: 0, trashBytes: 0, versionBytes: 0 },
}

const textOf = (length: number) => ({
  name: 'a.txt',
  type: 'text/plain',
  bytes: Buffer.alloc(length, 'a'),
})

for (const engine of bothEngines)
  describe(`quotas, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) =>
      startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t), ...env })

    test('one user cannot fill the disk: an upload over the byte quota is 413 and stores nothing', async (t) => {
      const service = await start(t, { STORAGE_FULL_USER_BYTES: '1000' })
      const { api, user } = service

      const fits = await upload(api, user, textOf(900))
      const tooLarge = await upload(api, user, textOf(101))
      const full = await upload(api, user, textOf(100))
      const another = await upload(api, user, textOf(1))

      assert.deepEqual([fits.status, full.status], [201, 201])
      for (const refused of [tooLarge, another])
        assert.deepEqual([refused.status, refused.body.code], [413, 'QUOTA_EXCEEDED'])
      assert.deepEqual([another.body.maxBytes, another.body.maxFiles], [1000, null])
      assert.equal((await api.get('/file/list', { token: user })).body.length, 2)
      assert.equal((await storedIn(service)).length, 2)
    })

    test('a large file is refused before its body is sent when no room is left', async (t) => {
      const { api, baseUrl, user } = await start(t, { STORAGE_FULL_USER_FILES: '1' })
      await upload(api, user)

      const { status, body } = await announce(baseUrl, user, 2 ** 21)

      assert.deepEqual([status, body.code], [413, 'QUOTA_EXCEEDED'])
    })

    test('an upload over the file quota is 413; a deletion makes room; other users have their own quota', async (t) => {
      const { api, user, admin } = await start(t, { STORAGE_FULL_USER_FILES: '1' })

      const first = await upload(api, user)
      const second = await upload(api, user)
      const other = await upload(api, admin)
      await api.delete(`/file/${first.body.id}`, { token: user })
      const third = await upload(api, user)

      assert.deepEqual([second.status, second.body.code], [413, 'QUOTA_EXCEEDED'])
      assert.deepEqual([first.status, other.status, third.status], [201, 201, 201])
    })

    test('a file above the size limit is still 413 FILE_TOO_LARGE', async (t) => {
      const quota = { STORAGE_FULL_USER_BYTES: '10KB', STORAGE_FULL_MAX_FILE_SIZE: '1KB' }
      const { api, user } = await start(t, quota)

      const { status, body } = await upload(api, user, textOf(2000))

      assert.deepEqual([status, body.code], [413, 'FILE_TOO_LARGE'])
    })

    test('a file above the size limit is FILE_TOO_LARGE even if the quota leaves less room, or none', async (t) => {
      const quota = { STORAGE_FULL_USER_BYTES: '2MB', STORAGE_FULL_MAX_FILE_SIZE: '3MB' }
      const { api, baseUrl, user } = await start(t, quota)

      const above = await announce(baseUrl, user, 2 ** 22)
      const within = await announce(baseUrl, user, 3 * 2 ** 20)
      await upload(api, user, textOf(2 * 2 ** 20))
      const full = await announce(baseUrl, user, 2 ** 22)

      assert.deepEqual([above.status, above.body.code], [413, 'FILE_TOO_LARGE'])
      assert.deepEqual([within.status, within.body.code], [413, 'QUOTA_EXCEEDED'])
      assert.deepEqual([full.status, full.body.code], [413, 'FILE_TOO_LARGE'])
    })

    for (const [what, quota] of [
      ['file quota', { STORAGE_FULL_USER_FILES: '10' }],
      ['byte quota', { STORAGE_FULL_USER_BYTES: String(10 * SIZE + SIZE - 1) }],
    ] as const)
      test(`fifty concurrent uploads at two nodes cannot exceed the ${what}`, async (t) => {
        const first = await start(t, quota)
        const second = await startStorage(t, first.env)
        for (let n = 0; n < 7; n += 1) await upload(first.api, first.user)

        const replies = await Promise.all(
          Array.from({ length: 50 }, (_, n) => upload(n % 2 ? first.api : second.api, first.user)),
        )

        const usage = await first.api.get('/file/usage', { token: first.user })
        assert.deepEqual(countsOf(replies), { 201: 3, 413: 47 })
        assert.deepEqual([usage.body.files, usage.body.bytes], [10, 10 * SIZE])
        assert.equal((await storedIn(first)).length, 10)
      })

    test('files counted by an earlier version count towards the quota', async (t) => {
      const { api, user, env } = await start(t, { STORAGE_FULL_USER_FILES: '100' })
      const { db, close } = await openDatabase<StorageTables>(
        env.STORAGE_FULL_DATABASE_URL ?? '',
        storageMigrations,
      )
      t.after(close)
      await db.insertInto('file_totals').values({ owner_id: '2', total: 98, bytes: 7 }).execute()

      const replies = await Promise.all([1, 2, 3].map(() => upload(api, user)))

      const { body } = await api.get('/file/usage', { token: user })
      assert.deepEqual(countsOf(replies), { 201: 2, 413: 1 })
      assert.deepEqual([body.files, body.bytes], [100, 7 + 2 * SIZE])
    })

    test('without a quota nothing is refused, and owners see their usage', async (t) => {
      const { api, user } = await start(t)
      const before = await api.get('/file/usage', { token: user })

      await upload(api, user)
      const gone = await upload(api, user)
      await api.delete(`/file/${gone.body.id}`, { token: user })

      const after = await api.get('/file/usage', { token: user })
      assert.deepEqual(before.body, { files: 0, bytes: 0, ...NONE })
      assert.deepEqual(after.body, { files: 1, bytes: SIZE, ...NONE })
      assert.equal((await api.get('/file/usage')).status, 401)
    })

    test('concurrent files of two users are all stored, counted and have one event each', async (t) => {
      const service = await start(t)
      const { api, user, admin } = service

      const replies = await Promise.all(
        Array.from({ length: 60 }, (_, n) =>
          upload(api, n % 3 === 0 ? admin : user, textOf(n + 1)),
        ),
      )

      assert.deepEqual(countsOf(replies), { 201: 60 })
      assert.ok(replies.every(({ body }, n) => body.size === n + 1))
      assert.equal(new Set(replies.map(({ body }) => body.id)).size, 60)
      assert.equal((await storedIn(service)).length, 60)
      for (const [token, files, bytes] of [
        [user, 40, 1240],
        [admin, 20, 590],
      ] as const) {
        const { body } = await api.get('/file/usage', { token })
        assert.deepEqual([body.files, body.bytes], [files, bytes])
      }
      const { db, close } = await openDatabase<StorageTables>(
        service.config.databaseUrl,
        storageMigrations,
      )
      t.after(close)
      const { rows } = await sql<{ subject: string }>`
        select subject from event_outbox where type = 'file.uploaded'
        union select subject from events where type = 'file.uploaded'`.execute(db)
      assert.deepEqual(
        rows.map(({ subject }) => subject).sort(),
        replies.map(({ body }) => `file:${body.id}`).sort(),
      )
    })

    test('the usage is of one moment: a file that comes back from the trash is never in both, nor in neither', async (t) => {
      const { api, user: token } = await start(t)
      const { body } = await upload(api, token, textOf(100))
      const backAndForth = async () => {
        for (let round = 0; round < 20; round += 1) {
          await api.delete(`/file/${body.id}?restorable=true`, { token })
          await api.post(`/file/${body.id}/restore`, {}, { token })
        }
      }
      let isDone = false
      const moving = backAndForth().finally(() => {
        isDone = true
      })

      const seen = new Set<string>()
      while (!isDone) {
        const usage = (await api.get('/file/usage', { token })).body
        seen.add(`${usage.files + usage.trashFiles}, ${usage.bytes + usage.trashBytes}`)
      }

      await moving
      assert.deepEqual([...seen], ['1, 100'])
    })

    test('an administrator sees the usage of all owners, the largest first', async (t) => {
      const { api, user, admin } = await start(t, { STORAGE_FULL_USER_BYTES: '1MB' })
      const alice = await register(api, 'alice')
      await upload(api, user)
      await upload(api, alice, textOf(5000))
      // Not 3 if PostgreSQL had to repeat the registration: a sequence does not reuse numbers.
      const { id: aliceId } = (await api.get('/api/users/me', { token: alice })).body

      const { status, body } = await api.get('/api/storage/usage', { token: admin })
      const second = await api.get('/api/storage/usage?page=1&size=1', { token: admin })
      const denied = await api.get('/api/storage/usage', { token: user })

      assert.equal(status, 200)
      const limits = { maxFiles: null, maxBytes: 1_048_576 }
      assert.deepEqual(body.content, [
        { ownerId: aliceId, owner: 'alice', files: 1, bytes: 5000, ...limits },
        { ownerId: 2, owner: 'user', files: 1, bytes: SIZE, ...limits },
      ])
      assert.deepEqual([body.totalElements, second.body.content[0].owner], [2, 'user'])
      assert.equal(denied.status, 403)
    })

    test('files of version 1.0 are part of the totals', async (t) => {
      const url = await engine.freshUrl(t, [])
      await openOld(url)
      const { db, close } = await openDatabase<StorageTables>(url, storageMigrations)
      t.after(close)

      const totals = await db.selectFrom('file_totals').selectAll().orderBy('owner_id').execute()

      assert.deepEqual(totals, [
        { owner_id: '1', total: 0, bytes: 0 },
        { owner_id: '2', total: 2, bytes: 300 },
      ])
    })
  })

const postgres = bothEngines.find(({ name }) => name === 'postgres')

test('uploads of one user do not wait for each other on postgres', {
  skip: postgres?.skip,
}, async (t) => {
  const STORAGE_FULL_DATABASE_URL = (await postgres?.freshUrl(t)) ?? ''
  const { api, user } = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
  await upload(api, user)
  const { db, close } = await openDatabase<StorageTables>(
    STORAGE_FULL_DATABASE_URL,
    storageMigrations,
  )
  t.after(close)

  const replies = await inTransaction(db, async (uncommitted) => {
    await uncommitted.updateTable('file_total_parts').set({ total: 1 }).execute()
    return Promise.all(Array.from({ length: 15 }, () => upload(api, user)))
  })

  assert.deepEqual(countsOf(replies), { 201: 15 })
})

test('each group of concurrent files of one user counts in another part, on postgres', {
  skip: postgres?.skip,
}, async (t) => {
  const STORAGE_FULL_DATABASE_URL = (await postgres?.freshUrl(t)) ?? ''
  await startStorage(t, { STORAGE_FULL_DATABASE_URL })
  const { db, close } = await openDatabase<StorageTables>(
    STORAGE_FULL_DATABASE_URL,
    storageMigrations,
  )
  t.after(close)
  const location = await requireActiveLocation(db)
  const insert = (name: string) => {
    const place = { location, objectName: name, folderId: null, folder: '/' }
    const file = { ...FILE, storedFilename: name, ...place, foldedName: name, words: ' a ' }
    const quota = { files: undefined, bytes: undefined }
    return insertFile(db, file, { quota, event: uploadEvent(file) })
  }
  const names = Array.from({ length: 20 }, (_, n) => String(n + 10))

  for (const group of ['a', 'b']) await Promise.all(names.map((name) => insert(`${group}${name}`)))

  const parts = await db.selectFrom('file_total_parts').select(['total', 'bytes']).execute()
  assert.deepEqual(parts, [
    { total: 20, bytes: 200 },
    { total: 20, bytes: 200 },
  ])
})

function countsOf(replies: ApiReply[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Every file in the store and in the spool folder. */
async function storedIn({ root }: TestStorage): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

/** Creates a database of version 1.0: two stored files of user 2, and one of user 1 that is being deleted. */
async function openOld(url: string): Promise<void> {
  const migrations = storageMigrations.filter(({ name }) => !/storage-000[2-9]/.test(name))
  const { db, close } = await openDatabase<StorageTables>(url, migrations)
  await sql`insert into storage_locations (id, provider, place, prefix, sealed_settings, created_at)
    values (1, 'LOCAL', 'files', 'files-1', '', '2030')`.execute(db)
  for (const [name, owner, size, state] of [
    ['a', '2', 100, 'stored'],
    ['b', '2', 200, 'stored'],
    ['c', '1', 400, 'deleting'],
  ])
    await sql`insert into files (owner_id, owner_name, original_filename, stored_filename, extension,
        content_type, size_bytes, checksum_sha256, location_id, object_name, state, thumbnail, created_at)
      values (${owner}, 'x', 'a.png', ${name}, 'png', 'image/png', ${size}, '', 1, ${name}, ${state},
        'none', '2030')`.execute(db)
  await sql`insert into file_totals (owner_id, total) values ('1', 0), ('2', 2)`.execute(db)
  await close()
}

/** Sends the head of an upload, but never its body. */
async function announce(baseUrl: string, token: string, bytes: number) {
  const upload = request(`${baseUrl}/file`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': bytes,
    },
  })
  upload.flushHeaders()
  const [reply]: IncomingMessage[] = await once(upload, 'response')
  assert(reply)
  const body = (await json(reply)) as { code: string }
  upload.destroy()
  return { status: reply.statusCode, body }
}
