import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { replace, TEXT, versionsOf } from './replace-file.ts'
import { engines, register, sharedStorage, upload } from './start-storage.ts'
import { fileIdOf, locationOf, metadata, sha256, textOf, tusFor } from './tus-client.ts'

const QUOTA = 1000

for (const engine of engines)
  describe(`resumable uploads that replace a file, on ${engine.name}`, engine.options, () => {
    const shared = sharedStorage(engine, { STORAGE_FULL_USER_BYTES: String(QUOTA) })
    const start = async () => {
      const service = await shared.newcomer()
      const { api, user } = service
      const { body: file } = await upload(api, user, { ...TEXT, bytes: Buffer.from('before') })
      const create = (
        token: string,
        { replaces = String(file.id), name = 'a.txt', length = 100, ifMatch = '' } = {},
      ) =>
        tusFor(api, token).create({
          length,
          headers: {
            'upload-metadata': metadata({ filename: name, replaces }),
            ...(ifMatch && { 'if-match': ifMatch }),
          },
        })
      const usage = async () => {
        const { body } = await api.get('/file/usage', { token: user })
        return [body.files, body.bytes, body.uploadingFiles, body.uploadingBytes]
      }
      return { ...service, file, create, usage, tus: tusFor(api, user) }
    }

    test('the upload becomes the new content of the file, and reserves only bytes', async () => {
      const { api, user, file, create, usage, tus } = await start()

      const location = locationOf(await create(user))
      const reserved = await usage()
      const done = await tus.patch(location, 0, textOf(100))

      assert.deepEqual(reserved, [1, 6, 0, 100])
      assert.deepEqual([done.status, fileIdOf(done)], [204, file.id])
      const { body } = await api.get(`/file/info/${file.id}`, { token: user })
      const changed = { size: 100, checksumSha256: sha256(textOf(100)), version: 2 }
      assert.deepEqual(body, { ...file, ...changed })
      const { bytes } = await api.get(`/file/stream/${file.id}`, { token: user })
      assert.ok(bytes.equals(textOf(100)))
      assert.deepEqual(await usage(), [1, 100, 0, 0])
      assert.equal(fileIdOf(await tus.head(location)), file.id)
    })

    test('at creation: an unknown file 404, that of another user 403, another type 400, no room 413', async () => {
      const { api, user, create, usage } = await start()
      const stranger = await register(api, `stranger-tus-${engine.name}`)

      const replies = [
        await create(user, { replaces: '999999' }),
        await create(user, { replaces: 'x' }),
        await create(stranger),
        await create(user, { name: 'a.png' }),
        await create(user, { length: QUOTA }),
      ]

      assert.deepEqual(
        replies.map(({ status }) => status),
        [404, 400, 403, 400, 413],
      )
      assert.deepEqual(await usage(), [1, 6, 0, 0])
    })

    test('an administrator replaces the file of another user, in the quota of that user', async () => {
      const { api, admin, user, file, create, usage } = await start()

      const location = locationOf(await create(admin))
      const reserved = await usage()
      const refused = await replace(api, user, file.id, { bytes: textOf(QUOTA - 50) })
      const done = await tusFor(api, admin).patch(location, 0, textOf(100))

      assert.deepEqual(reserved, [1, 6, 0, 100])
      assert.equal(refused.status, 413)
      assert.equal(done.status, 204)
      assert.deepEqual(await usage(), [1, 100, 0, 0])
      const { body } = await api.get('/api/audit?event=FILE_REPLACED', { token: admin })
      assert.equal(body.content[0].reason, `file ${file.id}`)
    })

    test('a file that is deleted meanwhile ends the upload with 404, and its room is free again', async () => {
      const { api, user, file, create, usage, tus } = await start()
      const location = locationOf(await create(user))
      await tus.patch(location, 0, textOf(50))
      await api.delete(`/file/${file.id}`, { token: user })

      const end = await tus.patch(location, 50, textOf(50))

      assert.deepEqual([end.status, end.body.code], [404, 'FILE_NOT_FOUND'])
      assert.ok([404, 410].includes((await tus.head(location)).status))
      assert.deepEqual(await usage(), [0, 0, 0, 0])
    })

    test('If-Match counts at creation and again at the end: 412, and the upload is gone', async () => {
      const { api, user, file, create, usage, tus } = await start()
      const ifMatch = `"${file.checksumSha256}"`

      const stale = await create(user, { ifMatch: '"other"' })
      const location = locationOf(await create(user, { ifMatch }))
      await replace(api, user, file.id, { bytes: Buffer.from('between') })
      const end = await tus.patch(location, 0, textOf(100))

      assert.deepEqual([stale.status, end.status], [412, 412])
      assert.equal(end.body.code, 'PRECONDITION_FAILED')
      assert.ok([404, 410].includes((await tus.head(location)).status))
      assert.deepEqual(await usage(), [1, 7, 0, 0])
    })

    test('cancelling gives the bytes back and leaves the file as it was', async () => {
      const { api, user, file, create, usage, tus } = await start()
      const location = locationOf(await create(user))
      await tus.patch(location, 0, textOf(50))

      const cancelled = await tus.cancel(location)

      assert.equal(cancelled.status, 204)
      assert.deepEqual(await usage(), [1, 6, 0, 0])
      assert.deepEqual(await versionsOf(api, user, file.id), [1])
    })

    test('content of another type than announced is refused at the end, and the upload is gone', async () => {
      const { api, user, file, create, usage, tus } = await start()
      const location = locationOf(await create(user, { length: sampleFiles.pdf.length }))

      const end = await tus.patch(location, 0, sampleFiles.pdf)

      assert.equal(end.status, 400)
      assert.deepEqual(await usage(), [1, 6, 0, 0])
      assert.deepEqual(await versionsOf(api, user, file.id), [1])
    })
  })
