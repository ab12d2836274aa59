import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { describe, type TestContext, test } from 'node:test'
import { inTransaction, openDatabase } from '@plinth/kit/database'
import type { ApiReply } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { until } from '../../../test/until.ts'
import { storageMigrations } from '../src/database/migrations/index.ts'
import type { StorageTables } from '../src/database/tables.ts'
import { replace, TEXT, versionsOf } from './replace-file.ts'
import { bothEngines, startStorage, type TestStorage, upload } from './start-storage.ts'
import { sha256 } from './tus-client.ts'

const ROUNDS = 3

const textOf = (letter: string, length = 10) => Buffer.alloc(length, letter)
const statusOf = ({ status }: ApiReply) => status

const store = async ({ api, user }: TestStorage, bytes = textOf('a')) =>
  (await upload(api, user, { ...TEXT, bytes })).body
const trash = ({ api, user: token }: TestStorage, id: number) =>
  api.delete(`/file/${id}?restorable=true`, { token })
const restore = ({ api, user: token }: TestStorage, id: number) =>
  api.post(`/file/${id}/restore`, undefined, { token })
const remove = ({ api, user: token }: TestStorage, id: number) =>
  api.delete(`/file/${id}`, { token })
const empty = ({ api, user: token }: TestStorage) => api.delete('/file/deleted', { token })

// The engines decide differently who changes a row first.
for (const engine of bothEngines)
  describe(`versions and the trash at two nodes, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const here = await startStorage(t, { STORAGE_FULL_DATABASE_URL, ...env })
      const there = { ...(await startStorage(t, here.env, here.clock)), user: here.user }
      const { db, close } = await openDatabase<StorageTables>(
        STORAGE_FULL_DATABASE_URL,
        storageMigrations,
      )
      t.after(close)
      /** The totals that decide about quotas are those of the rows. Returns them. */
      const requireCounted = async () => {
        const stored = await db
          .selectFrom('files')
          .select(['id', 'size_bytes as bytes'])
          .where('state', '=', 'stored')
          .execute()
        const ids = stored.map(({ id }) => id)
        const versions = await db
          .selectFrom('file_versions')
          .select(['file_id', 'size_bytes as bytes'])
          .where('state', '=', 'kept')
          .execute()
        const kept = versions.filter(({ file_id }) => ids.includes(file_id))
        const totals = await db.selectFrom('file_totals').select(['total', 'bytes']).execute()
        const parts =
          engine.name === 'postgres'
            ? await db.selectFrom('file_total_parts').select(['total', 'bytes']).execute()
            : []
        const counted = [...totals, ...parts]
        const files = counted.reduce((sum, { total }) => sum + Number(total), 0)
        const bytes = sumOf(counted)
        assert.deepEqual([files, bytes], [stored.length, sumOf([...stored, ...kept])])
        return { files, bytes }
      }
      return { here, there, db, requireCounted }
    }

    test('two replacements with the same If-Match: one 200, one 412', async (t) => {
      const { here, there, requireCounted } = await start(t, { STORAGE_FULL_VERSIONS: '1' })
      const { api, user } = here
      for (let round = 0; round < ROUNDS; round++) {
        const file = await store(here)
        const headers = { 'if-match': `"${file.checksumSha256}"` }
        const replaceAt = (node: TestStorage, bytes: Buffer) =>
          replace(node.api, user, file.id, { bytes, headers })

        const replies = await Promise.all([
          replaceAt(here, textOf('b')),
          replaceAt(there, textOf('c')),
        ])

        assert.deepEqual(replies.map(statusOf).sort(), [200, 412])
        const won = replies.find(({ status }) => status === 200)
        const { bytes } = await api.get(`/file/stream/${file.id}`, { token: user })
        assert.equal(sha256(bytes), won?.body.checksumSha256)
        assert.deepEqual(await versionsOf(api, user, file.id), [2, 1])
      }
      await requireCounted()
      assert.equal((await objectsOf(here)).length, 2 * ROUNDS)
    })

    test('replacements at once without If-Match are all kept, one after another', {
      tags: ['all'],
    }, async (t) => {
      const { here, there, requireCounted } = await start(t, { STORAGE_FULL_VERSIONS: '2' })
      const { api, user } = here
      const file = await store(here)
      const letters = ['b', 'c', 'd', 'e', 'f', 'g']

      const replies = await Promise.all(
        letters.map((letter, turn) =>
          replace(turn % 2 ? here.api : there.api, user, file.id, { bytes: textOf(letter) }),
        ),
      )

      const numbers = replies.map(({ body }) => body.version).sort()
      assert.deepEqual(numbers, [2, 3, 4, 5, 6, 7])
      assert.deepEqual(await versionsOf(api, user, file.id), [7, 6, 5])
      assert.deepEqual(await requireCounted(), { files: 1, bytes: 30 })
      assert.equal((await objectsOf(here)).length, 3)
    })

    test('a replacement and a deletion: the file is gone, with its versions, bytes and room', async (t) => {
      const { here, there, requireCounted } = await start(t, { STORAGE_FULL_VERSIONS: '1' })
      for (let round = 0; round < ROUNDS; round++) {
        const { id } = await store(here)
        await replace(here.api, here.user, id, { bytes: textOf('b') })

        const [replaced, removed] = await Promise.all([
          replace(there.api, there.user, id, { bytes: textOf('c', 30) }),
          remove(here, id),
        ])

        assert.equal(removed.status, 204)
        assert.ok([200, 404].includes(replaced.status), `${replaced.status}`)
        assert.deepEqual(await requireCounted(), { files: 0, bytes: 0 })
      }
      assert.deepEqual(await objectsOf(here), [])
    })

    test('a replacement and a deletion that is undone: old or new content, and the totals are right', {
      tags: ['all'],
    }, async (t) => {
      const { here, there, requireCounted } = await start(t, { STORAGE_FULL_VERSIONS: '1' })
      const { api, user } = here
      for (let round = 0; round < ROUNDS; round++) {
        const { id } = await store(here)

        const [replaced, trashed] = await Promise.all([
          replace(there.api, there.user, id, { bytes: textOf('c', 30) }),
          trash(here, id),
        ])
        assert.deepEqual(await requireCounted(), { files: 0, bytes: 0 })
        const restored = await restore(there, id)

        assert.deepEqual([trashed.status, restored.status], [200, 200])
        assert.ok([200, 404].includes(replaced.status), `${replaced.status}`)
        const isReplaced = replaced.status === 200
        assert.deepEqual(await versionsOf(api, user, id), isReplaced ? [2, 1] : [1])
        assert.deepEqual(await requireCounted(), { files: 1, bytes: isReplaced ? 40 : 10 })
        await remove(here, id)
      }
      assert.deepEqual(await objectsOf(here), [])
    })

    test('restoring files while their trash is emptied: each is restored, or gone for good', async (t) => {
      const { here, there, requireCounted } = await start(t, { STORAGE_FULL_VERSIONS: '1' })
      const { api, user: token } = here
      for (let round = 0; round < ROUNDS; round++) {
        const files = [await store(here), await store(here), await store(here), await store(here)]
        for (const { id } of files) {
          await replace(api, token, id, { bytes: textOf('b') })
          await trash(here, id)
        }

        const [emptied, again, ...restored] = await Promise.all([
          empty(there),
          empty(here),
          ...files.map(({ id }, turn) => restore(turn % 2 ? here : there, id)),
        ])

        const back = files.filter((_, index) => restored[index]?.status === 200)
        assert.ok(restored.every(({ status }) => [200, 404].includes(status)))
        assert.deepEqual([emptied.status, again.status], [200, 200])
        const gone = files.length - back.length
        assert.equal(emptied.body.files + again.body.files, gone)
        assert.equal(emptied.body.bytes + again.body.bytes, 20 * gone)
        const { body: list } = await api.get('/file/list', { token })
        const idsOf = (some: { id: number }[]) => some.map(({ id }) => id).sort()
        assert.deepEqual(idsOf(list), idsOf(back))
        const { files: stored, bytes } = await requireCounted()
        assert.deepEqual([stored, bytes], [back.length, 20 * back.length])
        for (const { id } of back) await remove(here, id)
      }
    })

    // On SQLite there is one writer.
    if (engine.name === 'postgres')
      test('the trash is emptied to the end while another node removes as many as one batch of it', {
        tags: ['all'],
      }, async (t) => {
        const { here, db } = await start(t)
        const BATCH = 200
        const { id } = await store(here)
        await trash(here, id)
        const { id: _, ...row } = await db
          .selectFrom('files')
          .selectAll()
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
        const time = await db.selectFrom('restorable_files').selectAll().executeTakeFirstOrThrow()
        const copies = Array.from({ length: BATCH + 9 }, (_, n) => ({
          ...row,
          object_name: `copy-${n}`,
          stored_filename: `copy-${n}`,
        }))
        const more = await db.insertInto('files').values(copies).returning('id').execute()
        const times = more.map(({ id: file_id }) => ({ ...time, file_id }))
        await db.insertInto('restorable_files').values(times).execute()
        const trashedFiles = db.selectFrom('files').select('id').where('state', '=', 'restorable')

        const emptied = await inTransaction(db, async (other) => {
          const first = trashedFiles.orderBy('id').limit(BATCH)
          await other
            .updateTable('files')
            .set({ state: 'deleting' })
            .where('id', 'in', first)
            .execute()
          const emptying = empty(here)
          await until(
            async () =>
              (
                await sql`select pid from pg_stat_activity
                  where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
              ).rows,
            ({ length }) => length > 0,
          )
          return { emptying }
        })

        const { body } = await emptied.emptying
        assert.deepEqual(await trashedFiles.execute(), [])
        assert.equal(body.files, 10)
      })

    test('a reader gets one version whole, or an error, while the content is replaced', {
      tags: ['all'],
    }, async (t) => {
      const { here, there } = await start(t)
      const { user } = here
      const LENGTH = 1_000_000
      const contentOf = (letter: string) => textOf(letter, LENGTH + letter.charCodeAt(0))
      const { id } = await store(here, contentOf('a'))
      const headers = { authorization: `Bearer ${user}` }
      let isReplacing = true
      let whole = 0
      const read = async () => {
        while (isReplacing) {
          const reply = await fetch(`${here.baseUrl}/file/download/${id}`, { headers })
          assert.notEqual(reply.status, 500)
          const bytes = await reply.arrayBuffer().then(Buffer.from, () => undefined)
          if (reply.status !== 200 || bytes === undefined) continue
          assert.equal(bytes.length, LENGTH + Number(bytes[0]))
          assert.equal(reply.headers.get('etag'), `"${sha256(bytes)}"`)
          whole += 1
        }
      }

      const reading = Promise.all([read(), read()])
      for (const letter of 'bcdefghijk')
        await replace(there.api, user, id, { bytes: contentOf(letter) })
      isReplacing = false

      await reading
      assert.ok(whole > 0)
      assert.equal((await objectsOf(here)).length, 1)
    })

    test('at the edge of the quota, uploads, replacements and deletions never exceed it, and the totals are those of the rows', async (t) => {
      const QUOTA = 1000
      const { here, there, requireCounted } = await start(t, {
        STORAGE_FULL_VERSIONS: '1',
        STORAGE_FULL_USER_BYTES: String(QUOTA),
      })
      const { user } = here
      const files = [await store(here), await store(here), await store(there)]
      const codes = new Set<number>()
      const live = async (turn: number) => {
        const [node, length] = [turn % 2 ? here : there, 40 + ((turn * 37) % 120)]
        const id = files[turn % 3].id
        const acts = [
          () => upload(node.api, user, { ...TEXT, bytes: textOf('n', length) }),
          () => replace(node.api, user, id, { bytes: textOf('r', length) }),
          () => replace(node.api, user, id, { bytes: textOf('s', 2 * length) }),
          () => trash(node, id),
          () => restore(node, id),
        ]
        const act = acts[turn % acts.length]
        const reply = await act?.()
        if (reply) codes.add(reply.status)
      }

      for (let round = 0; round < 4; round++) {
        const turns = Array.from({ length: 20 }, (_, turn) => live(round * 20 + turn))
        await Promise.all(turns)
        assert.ok((await requireCounted()).bytes <= QUOTA)
      }

      assert.ok(codes.has(413) && codes.has(201) && codes.has(200), `${[...codes]}`)
      assert.ok(
        [...codes].every((code) => [200, 201, 404, 413].includes(code)),
        `${[...codes]}`,
      )
    })
  })

const sumOf = (rows: { bytes: number }[]) => rows.reduce((sum, { bytes }) => sum + Number(bytes), 0)

/** The names of all stored objects. */
async function objectsOf({ root }: TestStorage): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}
