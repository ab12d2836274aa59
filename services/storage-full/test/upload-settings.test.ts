import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { engines, sharedStorage, startStorage, upload } from './start-storage.ts'

const LIMIT = 2000

for (const engine of engines)
  describe(`POST /file with narrower settings, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine, {
      STORAGE_FULL_MAX_FILE_SIZE: String(LIMIT),
      STORAGE_FULL_ALLOWED_TYPES: 'png,txt,pdf,svg',
    })

    test('accepts a file of exactly the limit and answers 413 to one byte more', async () => {
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

    test('accepts 64 KiB around the file, and answers 413 to one byte more', async () => {
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

    test('accepts only the types that STORAGE_FULL_ALLOWED_TYPES lists', async () => {
      const { api, user } = await newcomer()
      const pdf = { name: 'x.pdf', type: 'application/pdf', bytes: sampleFiles.pdf }
      const gif = { name: 'x.gif', type: 'image/gif', bytes: sampleFiles.gif }

      const refused = await upload(api, user, gif)

      assert.deepEqual([refused.status, refused.body.code], [400, 'UNSUPPORTED_FILE_TYPE'])
      assert.deepEqual(refused.body.accepted, ['.png', '.pdf', '.txt', '.svg'])
      assert.match(refused.body.detail, /\.gif are not accepted\. Accepted are \.png, \.pdf, /)
      assert.equal((await upload(api, user, pdf)).status, 201)
    })

    test('an SVG is downloaded and never shown, to its owner and through a link', async () => {
      const { api, user } = await newcomer()
      const svg = { name: 'x.svg', type: 'image/svg+xml', bytes: sampleFiles.svg }

      const { body: file } = await upload(api, user, svg)

      const link = { id: file.id, expiresInSeconds: 60 }
      const { body } = await api.post('/file/generate-pre-signed-url', link, { token: user })
      for (const path of [
        `/file/stream/${file.id}`,
        `/file/download/${file.id}`,
        new URL(body.url).pathname,
      ]) {
        const { status, headers } = await api.get(path, { token: user })
        assert.equal(status, 200)
        assert.match(headers.get('content-disposition') ?? '', /^attachment;/, path)
        assert.match(headers.get('content-security-policy') ?? '', /sandbox/)
        assert.equal(headers.get('x-content-type-options'), 'nosniff')
      }
      const thumbnail = await api.get(`/file/thumbnail/${file.id}`, { token: user })
      assert.doesNotMatch(String(thumbnail.body), /script/)
    })
  })

test('`default` keeps the usual types, and others can be added', async (t) => {
  const { api, user } = await startStorage(t, {
    STORAGE_FULL_ALLOWED_TYPES: 'default,csv,json,md,docx,xlsx',
  })
  const sent = async (name: string, type: string, bytes: Buffer) => {
    const { status, body } = await upload(api, user, { name, type, bytes })
    return [status, body.contentType ?? body.code]
  }
  const office = 'application/vnd.openxmlformats-officedocument'

  for (const [name, type] of [
    ['png', 'image/png'],
    ['csv', 'text/csv'],
    ['json', 'application/json'],
    ['md', 'text/markdown'],
    ['docx', `${office}.wordprocessingml.document`],
    ['xlsx', `${office}.spreadsheetml.sheet`],
  ] as const)
    assert.deepEqual(await sent(`x.${name}`, type, sampleFiles[name]), [201, type])
  assert.deepEqual(await sent('x.csv', 'application/vnd.ms-excel', sampleFiles.csv), [
    201,
    'text/csv',
  ])
  assert.deepEqual(await sent('x.docx', `${office}.wordprocessingml.document`, sampleFiles.zip), [
    400,
    'FILE_TYPE_MISMATCH',
  ])
  assert.deepEqual(await sent('x.svg', 'image/svg+xml', sampleFiles.svg), [
    400,
    'UNSUPPORTED_FILE_TYPE',
  ])
})
