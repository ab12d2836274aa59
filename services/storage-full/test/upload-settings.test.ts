import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, sampleFiles } from '@plinth/kit/testing'
import { sharedStorage, upload } from './start-storage.ts'

const LIMIT = 2000

for (const engine of engines)
  describe(`POST /file with narrower settings, on ${engine.name}`, { skip: engine.skip }, () => {
    const { newcomer } = sharedStorage(engine, {
      STORAGE_FULL_MAX_FILE_SIZE: String(LIMIT),
      STORAGE_FULL_ALLOWED_TYPES: 'png,txt,pdf',
    })

    test('takes a file of exactly the limit and answers 413 to one byte more', async () => {
      const { api, user } = await newcomer()
      const statusOf = async (size: number) => {
        const bytes = Buffer.alloc(size, 'a')
        return (await upload(api, user, { name: 'x.txt', type: 'text/plain', bytes })).status
      }

      assert.equal(await statusOf(LIMIT), 201)
      assert.equal(await statusOf(LIMIT + 1), 413)
      assert.equal(await statusOf(1_000_000), 413)
      assert.equal((await api.get('/file/list', { token: user })).body.length, 1)
    })

    test('takes 64 KiB around the file, and answers 413 to one byte more', async () => {
      const { api, user } = await newcomer()
      const statusOf = async (around: number) => {
        const file = Buffer.alloc(LIMIT, 'a')
        const head =
          '--b\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\nContent-Type: text/plain\r\n\r\n'
        const tail = '\r\n--b--\r\n'
        const rest = ' '.repeat(around - head.length - tail.length)
        const body = Buffer.concat([Buffer.from(head), file, Buffer.from(tail + rest)])
        const headers = { 'content-type': 'multipart/form-data; boundary=b' }
        return (await api.request('POST', '/file', { token: user, headers, body })).status
      }

      assert.equal(await statusOf(64 * 1024), 201)
      assert.equal(await statusOf(64 * 1024 + 1), 413)
    })

    test('takes only the types that STORAGE_FULL_ALLOWED_TYPES names', async () => {
      const { api, user } = await newcomer()
      const pdf = { name: 'x.pdf', type: 'application/pdf', bytes: sampleFiles.pdf }
      const gif = { name: 'x.gif', type: 'image/gif', bytes: sampleFiles.gif }

      const refused = await upload(api, user, gif)

      assert.deepEqual([refused.status, refused.body.code], [400, 'UNSUPPORTED_FILE_TYPE'])
      assert.equal((await upload(api, user, pdf)).status, 201)
    })
  })
