import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { startStorage, type TestStorage, upload } from './start-storage.ts'

const TYPES = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  pdf: 'application/pdf',
  txt: 'text/plain',
  mp4: 'video/mp4',
  mp3: 'audio/mpeg',
  zip: 'application/zip',
} as const

async function leftovers({ root }: TestStorage): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

describe('POST /file: what is accepted', () => {
  test('takes every allowed type', async (t) => {
    const { api, user } = await startStorage(t)
    for (const [extension, type] of Object.entries(TYPES)) {
      const bytes = sampleFiles[extension as keyof typeof TYPES]

      const reply = await upload(api, user, { name: `x.${extension}`, type, bytes })

      assert.equal(reply.status, 201, `${extension} ${JSON.stringify(reply.body)}`)
      assert.equal(reply.body.contentType, type)
    }
  })

  test('takes text whose declared type names its encoding', async (t) => {
    const { api, user } = await startStorage(t)
    const bytes = Buffer.from('grün')
    for (const type of ['text/plain;charset=UTF-8', 'text/plain; charset=utf-8']) {
      const reply = await upload(api, user, { name: 'x.txt', type, bytes })

      assert.deepEqual([reply.status, reply.body.contentType], [201, 'text/plain'], type)
    }
  })

  test('takes text that begins like another type, and no other type as text', async (t) => {
    const { api, user } = await startStorage(t)
    const text = async (bytes: Buffer) =>
      (await upload(api, user, { name: 'x.txt', type: 'text/plain', bytes })).status

    for (const words of ['ID3 tags explained', 'The ftyp box of a film', 'GIF89a or GIF87a'])
      assert.equal(await text(Buffer.from(words)), 201, words)
    for (const extension of ['png', 'jpg', 'webp', 'gif', 'pdf', 'mp4', 'mp3', 'zip'] as const)
      assert.equal(await text(sampleFiles[extension]), 400, extension)
  })

  test('refuses scripts, pages, SVG and executables under their own or a borrowed name', async (t) => {
    const service = await startStorage(t)
    const page = Buffer.from('<html><script>alert(1)</script></html>')
    const attempts = [
      { name: 'x.html', type: 'text/html', bytes: page },
      { name: 'x.svg', type: 'image/svg+xml', bytes: Buffer.from('<svg/>') },
      { name: 'x.js', type: 'text/javascript', bytes: page },
      { name: 'x.exe', type: 'application/octet-stream', bytes: Buffer.from('MZ') },
      { name: 'x.png', type: 'image/png', bytes: page },
      { name: 'x', type: 'image/png' },
      { name: '.png.', type: 'image/png' },
    ]
    for (const attempt of attempts) {
      const { status, body } = await upload(service.api, service.user, attempt)

      assert.equal(status, 400, attempt.name)
      assert.equal(body.status, 400)
    }
    assert.deepEqual(await leftovers(service), [])
  })

  test('refuses a file whose extension, declared type and signature disagree', async (t) => {
    const { api, user } = await startStorage(t)
    const attempts = [
      { name: 'x.jpg', type: 'image/png', bytes: sampleFiles.png },
      { name: 'x.png', type: 'image/jpeg', bytes: sampleFiles.png },
      { name: 'x.png', type: 'image/png', bytes: sampleFiles.jpg },
    ]
    for (const attempt of attempts) {
      const { status, body } = await upload(api, user, attempt)

      assert.deepEqual([status, body.code], [400, 'FILE_TYPE_MISMATCH'])
      assert.deepEqual(Object.keys(body.claims), ['extension', 'declaredType', 'content'])
    }
  })

  test('with STORAGE_FULL_CONTENT_CHECK=structure damaged and padded files are refused', async (t) => {
    const { api, user } = await startStorage(t, { STORAGE_FULL_CONTENT_CHECK: 'structure' })
    const attempts = [
      sampleFiles.png.subarray(0, 8),
      sampleFiles.png.subarray(0, -4),
      Buffer.concat([sampleFiles.png, Buffer.from('<script>')]),
    ]
    for (const bytes of attempts) {
      const { status, body } = await upload(api, user, { bytes })

      assert.deepEqual([status, body.code], [400, 'DAMAGED_FILE'])
    }
    assert.equal((await upload(api, user)).status, 201)
  })

  test('refuses empty files, and text that is not UTF-8', async (t) => {
    const { api, user } = await startStorage(t)
    const attempts = [
      { bytes: Buffer.alloc(0) },
      { bytes: sampleFiles.png.subarray(0, 7) },
      { name: 'x.txt', type: 'text/plain', bytes: Buffer.from([0x61, 0xff, 0xfe]) },
      { name: 'x.txt', type: 'text/plain', bytes: Buffer.from('a\0b') },
      { name: 'x.pdf', type: 'application/pdf', bytes: Buffer.from(' %PDF-1.4\n%%EOF') },
    ]
    for (const [index, attempt] of attempts.entries())
      assert.equal((await upload(api, user, attempt)).status, 400, `attempt ${index}`)
  })

  test('takes a file of exactly the limit and answers 413 to one byte more', async (t) => {
    const limit = 2000
    const service = await startStorage(t, { STORAGE_FULL_MAX_FILE_SIZE: String(limit) })
    const text = (size: number) => ({
      name: 'x.txt',
      type: 'text/plain',
      bytes: Buffer.alloc(size, 'a'),
    })

    assert.equal((await upload(service.api, service.user, text(limit))).status, 201)
    assert.equal((await upload(service.api, service.user, text(limit + 1))).status, 413)
    assert.equal((await upload(service.api, service.user, text(1_000_000))).status, 413)
    assert.equal((await leftovers(service)).length, 1)
  })

  test('takes only the types that STORAGE_FULL_ALLOWED_TYPES names', async (t) => {
    const { api, user } = await startStorage(t, { STORAGE_FULL_ALLOWED_TYPES: 'pdf' })

    const png = await upload(api, user)
    const pdf = { name: 'x.pdf', type: 'application/pdf', bytes: sampleFiles.pdf }

    assert.deepEqual([png.status, png.body.code], [400, 'UNSUPPORTED_FILE_TYPE'])
    assert.equal((await upload(api, user, pdf)).status, 201)
  })

  test('answers 401 before it reads a body, and 400 to a body that is no upload', async (t) => {
    const service = await startStorage(t)
    const { api, user } = service
    const post = (headers: Record<string, string>, body: string, token?: string) =>
      api.request('POST', '/file', { headers, body, token })
    const multipart = { 'content-type': 'multipart/form-data; boundary=b' }
    const part = (name: string, filename: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\n` +
      `Content-Type: text/plain\r\n\r\nhello\r\n`

    assert.equal((await upload(api, 'no-token')).status, 401)
    assert.equal((await post({ 'content-type': 'application/json' }, '{}')).status, 401)
    assert.equal((await post({ 'content-type': 'application/json' }, '{}', user)).status, 400)
    assert.equal((await post({ 'content-type': 'multipart/form-data' }, 'x', user)).status, 400)
    assert.equal((await post(multipart, '', user)).status, 400)
    assert.equal((await post(multipart, part('file', 'a.txt'), user)).status, 400)
    assert.equal((await post(multipart, `${part('other', 'a.txt')}--b--`, user)).status, 400)
    const twice = `${part('file', 'a.txt')}${part('file', 'b.txt')}--b--`
    assert.equal((await post(multipart, twice, user)).status, 400)
    assert.equal((await post(multipart, `${part('file', 'a.txt')}--b--`, user)).status, 201)
    assert.equal((await leftovers(service)).length, 1)
  })

  test('leaves nothing of an upload whose client went away', async (t) => {
    const service = await startStorage(t)
    const leaving = new AbortController()
    const { readable, writable } = new TransformStream()
    const writer = writable.getWriter()
    const sending = service.api
      .request('POST', '/file', {
        token: service.user,
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        body: readable as never,
        signal: leaving.signal,
      })
      .catch(() => 'gone')
    const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    await writer.write(Buffer.from(head))
    for (let chunk = 0; chunk < 20; chunk++) await writer.write(Buffer.alloc(65_536, 'a'))

    leaving.abort()

    assert.equal(await sending, 'gone')
    await service.server.close()
    assert.deepEqual(await leftovers(service), [])
  })
})
