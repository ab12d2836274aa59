import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type ApiReply, sampleFiles } from '@plinth/kit/testing'
import { replace, TEXT, versionsOf } from './replace-file.ts'
import { engines, register, sharedStorage, type TestStorage, upload } from './start-storage.ts'
import { sha256 } from './tus-client.ts'

const QUOTA = 1000

const textOf = (letter: string, length = 10) => Buffer.alloc(length, letter)
const answer = ({ status, body }: ApiReply) => [status, body?.code]

type Caller = Pick<TestStorage, 'api' | 'user'>

const uploadText = async ({ api, user }: Caller, bytes: Buffer) =>
  (await upload(api, user, { ...TEXT, bytes })).body

const usageOf = async ({ api, user }: Caller) => {
  const { body } = await api.get('/file/usage', { token: user })
  return [body.files, body.bytes, body.versionBytes]
}

const objectsOf = async ({ root }: Pick<TestStorage, 'root'>) => {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

for (const engine of engines) {
  describe(`replacing the content of a file, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine, { STORAGE_FULL_USER_BYTES: String(QUOTA) })

    test('the new content is there at once, with the same id, name and links, as version 2', async () => {
      const service = await newcomer()
      const { api, user, clock } = service
      const file = await uploadText(service, textOf('a'))
      const link = { id: file.id, expiresInSeconds: 3600 }
      const { body: made } = await api.post('/file/generate-pre-signed-url', link, { token: user })
      const before = await api.get(`/file/stream/${file.id}`, { token: user })
      clock.advance(90)

      const replaced = await replace(api, user, file.id, { bytes: textOf('b', 20), name: 'x.txt' })

      assert.equal(file.version, 1)
      const updatedAt = clock().toISOString()
      const changed = {
        ...{ size: 20, checksumSha256: sha256(textOf('b', 20)), version: 2, updatedAt },
      }
      assert.equal(replaced.status, 200)
      assert.deepEqual(replaced.body, { ...file, ...changed })
      const after = await api.get(`/file/stream/${file.id}`, { token: user })
      assert.ok(after.bytes.equals(textOf('b', 20)))
      assert.equal(after.headers.get('etag'), `"${changed.checksumSha256}"`)
      assert.notEqual(after.headers.get('last-modified'), before.headers.get('last-modified'))
      assert.ok((await api.get(`/file/presigned/${made.token}`)).bytes.equals(textOf('b', 20)))
      const info = await api.get(`/file/info/${file.id}`, { token: user })
      assert.deepEqual(info.body, replaced.body)
      assert.deepEqual(await versionsOf(api, user, file.id), [2])
      assert.deepEqual(await usageOf(service), [1, 20, 0])
    })

    test('the old content is removed, with the thumbnail and renditions made of it', async () => {
      const service = await newcomer()
      const { api, user } = service
      const { body: file } = await upload(api, user)
      const small = await api.get(`/file/thumbnail/${file.id}`, { token: user })
      await api.get(`/file/picture/${file.id}?width=64`, { token: user })
      const picture = Buffer.concat([sampleFiles.png, Buffer.from('more')])

      const content = { bytes: picture, name: 'p.png', type: 'image/png' }
      const replaced = await replace(api, user, file.id, content)

      assert.equal(replaced.status, 200)
      assert.equal(small.status, 200)
      const own = file.storedFilename.slice(0, 36)
      assert.ok(!(await objectsOf(service)).some((name) => name.startsWith(own)))
      const again = await api.get(`/file/thumbnail/${file.id}`, { token: user })
      assert.deepEqual([again.status, again.headers.get('content-type')], [200, 'image/jpeg'])
    })

    test('another type is 400, and so is a body that is no form; nothing has changed', async () => {
      const service = await newcomer()
      const { api, user } = service
      const file = await uploadText(service, textOf('a'))

      const other = await replace(api, user, file.id, {
        ...{ bytes: sampleFiles.png, name: 'p.png', type: 'image/png' },
      })
      const empty = await replace(api, user, file.id, { bytes: Buffer.alloc(0) })
      const json = await api.put(`/file/${file.id}`, { a: 1 }, { token: user })

      assert.deepEqual(answer(other), [400, 'FILE_TYPE_MISMATCH'])
      assert.deepEqual(answer(empty), [400, 'EMPTY_FILE'])
      assert.deepEqual(answer(json), [400, 'MALFORMED_UPLOAD'])
      const { body } = await api.get(`/file/info/${file.id}`, { token: user })
      assert.deepEqual(body, file)
    })

    test('401, 400, 404 and 403 as for other calls; an administrator may, and the audit says so', async () => {
      const service = await newcomer()
      const { api, user, admin } = service
      const stranger = await register(api, `stranger-${engine.name}-versions`)
      const file = await uploadText(service, textOf('a'))
      const bytes = textOf('b')

      const replies = [
        await replace(api, 'nonsense', file.id, { bytes }),
        await api.request('PUT', '/file/abc', { token: user, body: new FormData() }),
        await replace(api, user, 999_999, { bytes }),
        await replace(api, stranger, file.id, { bytes }),
        await replace(api, admin, file.id, { bytes }),
      ]

      assert.deepEqual(
        replies.map(({ status }) => status),
        [401, 400, 404, 403, 200],
      )
      const { body } = await api.get('/api/audit?event=FILE_REPLACED', { token: admin })
      assert.equal(body.content[0].reason, `file ${file.id}`)
      assert.equal(body.content[0].subject, file.owner)
      assert.deepEqual(await usageOf(service), [1, 10, 0])
    })

    test('a stale If-Match is 412 and changes nothing; the current tag, a list with it, and * replace', async () => {
      const service = await newcomer()
      const { api, user } = service
      const file = await uploadText(service, textOf('a'))
      const tag = (letter: string) => `"${sha256(textOf(letter))}"`
      const replaceIf = (match: string, letter: string) =>
        replace(api, user, file.id, { bytes: textOf(letter), headers: { 'if-match': match } })

      const stale = await replaceIf(tag('x'), 'b')
      const weak = await replaceIf(`W/${tag('a')}`, 'b')
      const fresh = await replaceIf(tag('a'), 'b')
      const again = await replaceIf(tag('a'), 'c')
      const listed = await replaceIf(`"other", ${tag('b')}`, 'c')
      const any = await replaceIf('*', 'd')

      assert.deepEqual(answer(stale), [412, 'PRECONDITION_FAILED'])
      assert.equal(stale.headers.get('etag'), tag('a'))
      assert.deepEqual([weak.status, fresh.status, again.status], [412, 200, 412])
      assert.deepEqual([listed.status, any.status, any.body.version], [200, 200, 4])
    })

    test('without room 413, nothing changed; content of the same size always fits', async () => {
      const service = await newcomer()
      const { api, user } = service
      const file = await uploadText(service, textOf('a', QUOTA - 100))
      const before = await objectsOf(service)

      const large = await replace(api, user, file.id, { bytes: textOf('b', QUOTA + 1) })
      const same = await replace(api, user, file.id, { bytes: textOf('c', QUOTA - 100) })
      const full = await replace(api, user, file.id, { bytes: textOf('d', QUOTA) })
      const smaller = await replace(api, user, file.id, { bytes: textOf('e', 1) })

      assert.deepEqual(answer(large), [413, 'QUOTA_EXCEEDED'])
      assert.deepEqual(
        [same, full, smaller].map(({ status }) => status),
        [200, 200, 200],
      )
      assert.deepEqual(await usageOf(service), [1, 1, 0])
      assert.equal((await objectsOf(service)).length, before.length)
    })
  })

  describe(`versions of a file, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine, {
      STORAGE_FULL_VERSIONS: '2',
      STORAGE_FULL_USER_BYTES: String(QUOTA),
      STORAGE_FULL_USER_FILES: '2',
    })

    test('as many older versions as the setting says are kept, and listed newest first', async () => {
      const service = await newcomer()
      const { api, user, clock } = service
      const file = await uploadText(service, textOf('a'))
      for (const letter of ['b', 'c', 'd']) {
        clock.advance(10)
        await replace(api, user, file.id, { bytes: textOf(letter) })
      }

      const { body } = await api.get(`/file/${file.id}/versions`, { token: user })

      const now = clock().getTime()
      const at = (seconds: number) => new Date(now - seconds * 1000).toISOString()
      const expected = [
        [4, 'd', 0],
        [3, 'c', 10],
        [2, 'b', 20],
      ] as const
      assert.deepEqual(
        body,
        expected.map(([version, letter, age]) => ({
          ...{ version, size: 10, checksumSha256: sha256(textOf(letter)), createdAt: at(age) },
          current: version === 4,
        })),
      )
      const old = await api.get(`/file/${file.id}/versions/3`, { token: user })
      assert.ok(old.bytes.equals(textOf('c')))
      assert.match(
        old.headers.get('content-disposition') ?? '',
        /^attachment; filename="notes.txt"/,
      )
      assert.equal(old.headers.get('etag'), `"${sha256(textOf('c'))}"`)
      const part = { token: user, headers: { range: 'bytes=0-3' } }
      const range = await api.get(`/file/${file.id}/versions/4`, part)
      assert.deepEqual([range.status, range.bytes.toString()], [206, 'dddd'])
      assert.equal((await api.get(`/file/${file.id}/versions/1`, { token: user })).status, 404)
      assert.equal((await api.get(`/file/${file.id}/versions/9`, { token: user })).status, 404)
      assert.equal((await api.get(`/file/${file.id}/versions/x`, { token: user })).status, 400)
    })

    test('versions count in the bytes of the quota, not in its files; without room nothing changes', async () => {
      const service = await newcomer()
      const { api, user } = service
      const file = await uploadText(service, textOf('a', 400))
      const other = await uploadText(service, textOf('o', 100))
      const second = await replace(api, user, file.id, { bytes: textOf('b', 500) })
      const before = await objectsOf(service)

      const third = await replace(api, user, file.id, { bytes: textOf('c', 1) })

      assert.equal(second.status, 200)
      assert.deepEqual(answer(third), [413, 'QUOTA_EXCEEDED'])
      assert.deepEqual(await usageOf(service), [2, 600, 400])
      assert.deepEqual(await versionsOf(api, user, file.id), [2, 1])
      assert.deepEqual(await objectsOf(service), before)
      const refused = await upload(api, user, { ...TEXT, bytes: textOf('n', 1) })
      assert.equal(refused.status, 413)
      await api.delete(`/file/${other.id}`, { token: user })
      assert.equal((await replace(api, user, file.id, { bytes: textOf('c', 100) })).status, 200)
      assert.deepEqual(await usageOf(service), [1, 100, 900])
    })

    test('restoring a version makes a new one of it; the current one is 409, an unknown one 404', async () => {
      const service = await newcomer()
      const { api, user } = service
      const file = await uploadText(service, textOf('a'))
      await replace(api, user, file.id, { bytes: textOf('b', 20) })
      const restore = (version: number) =>
        api.post(`/file/${file.id}/versions/${version}/restore`, undefined, { token: user })

      const restored = await restore(1)

      assert.equal(restored.status, 200)
      assert.deepEqual(restored.body, { ...file, version: 3 })
      const { bytes } = await api.get(`/file/download/${file.id}`, { token: user })
      assert.ok(bytes.equals(textOf('a')))
      assert.deepEqual(await versionsOf(api, user, file.id), [3, 2, 1])
      assert.deepEqual(await usageOf(service), [1, 10, 30])
      assert.deepEqual(answer(await restore(3)), [409, 'VERSION_IS_CURRENT'])
      assert.deepEqual(answer(await restore(4)), [404, 'VERSION_NOT_FOUND'])
    })

    test('a deleted version is gone, with its bytes and its room; the current one is 409', async () => {
      const service = await newcomer()
      const { api, user, admin } = service
      const file = await uploadText(service, textOf('a'))
      await replace(api, user, file.id, { bytes: textOf('b') })
      const remove = (version: number, token = user) =>
        api.delete(`/file/${file.id}/versions/${version}`, { token })
      const stranger = await register(api, `no-version-${engine.name}`)

      const refused = [await remove(2), await remove(7), await remove(1, stranger)]
      const removed = await remove(1, admin)

      assert.deepEqual(
        refused.map(({ status }) => status),
        [409, 404, 403],
      )
      assert.equal(removed.status, 204)
      assert.deepEqual(await versionsOf(api, user, file.id), [2])
      assert.equal((await remove(1)).status, 404)
      assert.deepEqual(await usageOf(service), [1, 10, 0])
      assert.ok(!(await objectsOf(service)).includes(file.storedFilename))
      const { body } = await api.get('/api/audit?event=FILE_VERSION_DELETED', { token: admin })
      assert.equal(body.content[0].reason, `file ${file.id}, version 1`)
    })

    test('a deleted file takes its versions along; a restored one has them again', async () => {
      const service = await newcomer()
      const { api, user } = service
      const file = await uploadText(service, textOf('a'))
      await replace(api, user, file.id, { bytes: textOf('b') })

      await api.delete(`/file/${file.id}?restorable=true`, { token: user })
      const meanwhile = await usageOf(service)
      const hidden = await api.get(`/file/${file.id}/versions`, { token: user })
      await api.post(`/file/${file.id}/restore`, undefined, { token: user })
      const restored = [await versionsOf(api, user, file.id), await usageOf(service)]
      const old = await api.get(`/file/${file.id}/versions/1`, { token: user })
      await api.delete(`/file/${file.id}`, { token: user })

      assert.deepEqual([meanwhile, hidden.status], [[0, 0, 0], 404])
      assert.deepEqual(restored, [
        [2, 1],
        [1, 10, 10],
      ])
      assert.ok(old.bytes.equals(textOf('a')))
      assert.deepEqual(await usageOf(service), [0, 0, 0])
      assert.ok(!(await objectsOf(service)).includes(file.storedFilename))
    })

    test('files that are trashed together free the room of their versions', async () => {
      const service = await newcomer()
      const { api, user } = service
      const file = { ...TEXT, bytes: textOf('a', 400), folder: '/old' }
      const { body } = await upload(api, user, file)
      await replace(api, user, body.id, { bytes: textOf('b', 400) })

      const trashed = await api.delete('/file/folders?path=/old&recursive=true', { token: user })

      const fresh = await upload(api, user, { ...TEXT, bytes: textOf('c', QUOTA) })
      assert.deepEqual([trashed.status, fresh.status], [200, 201])
    })

    test('a version whose bytes are gone from the store is 503, and stays in the list', async () => {
      const service = await newcomer()
      const { api, user, root } = service
      const { id, storedFilename } = await uploadText(service, textOf('a'))
      await replace(api, user, id, { bytes: textOf('b') })
      const entries = await readdir(root, { recursive: true, withFileTypes: true })
      const object = entries.find(({ name }) => name === storedFilename)
      await rm(join(object?.parentPath ?? '', storedFilename))

      const reply = await api.get(`/file/${id}/versions/1`, { token: user })

      assert.equal(reply.status, 503)
      assert.deepEqual(await versionsOf(api, user, id), [2, 1])
    })

    test('a file with versions is restored only if all of it fits the quota', async () => {
      const service = await newcomer()
      const { api, user } = service
      const file = await uploadText(service, textOf('a', 300))
      await replace(api, user, file.id, { bytes: textOf('b', 300) })
      await api.delete(`/file/${file.id}?restorable=true`, { token: user })
      const other = await uploadText(service, textOf('o', 500))
      const restore = () => api.post(`/file/${file.id}/restore`, undefined, { token: user })

      const refused = await restore()
      await api.delete(`/file/${other.id}`, { token: user })
      const restored = await restore()

      assert.deepEqual(answer(refused), [413, 'QUOTA_EXCEEDED'])
      assert.equal(restored.status, 200)
      assert.deepEqual(await usageOf(service), [1, 300, 300])
    })
  })
}
