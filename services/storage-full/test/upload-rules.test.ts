import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { engines, sharedStorage, type TestStorage, upload } from './start-storage.ts'

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

/** Every file in the store and in the spool folder. */
async function leftovers({ root }: TestStorage): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

for (const engine of engines)
  describe(`POST /file: what is accepted, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)

    test('accepts every allowed type', async () => {
      const { api, user } = await newcomer()
      for (const [extension, type] of Object.entries(TYPES)) {
        const bytes = sampleFiles[extension as keyof typeof TYPES]

        const reply = await upload(api, user, { name: `x.${extension}`, type, bytes })

        assert.equal(reply.status, 201, `${extension} ${JSON.stringify(reply.body)}`)
        assert.equal(reply.body.contentType, type)
      }
    })

    test('accepts a damaged file: only its signature is checked', async () => {
      const { api, user } = await newcomer()

      assert.equal((await upload(api, user, { bytes: sampleFiles.png.subarray(0, 8) })).status, 201)
    })

    test('accepts text whose declared type names its encoding', async () => {
      const { api, user } = await newcomer()
      const bytes = Buffer.from('grün')
      for (const type of ['text/plain;charset=UTF-8', 'text/plain; charset=utf-8']) {
        const reply = await upload(api, user, { name: 'x.txt', type, bytes })

        assert.deepEqual([reply.status, reply.body.contentType], [201, 'text/plain'], type)
      }
    })

    test('accepts text that starts like another type, but no other type as text', async () => {
      const { api, user } = await newcomer()
      const text = async (bytes: Buffer) =>
        (await upload(api, user, { name: 'x.txt', type: 'text/plain', bytes })).status

      for (const words of ['ID3 tags explained', 'The ftyp box of a film', 'GIF89a or GIF87a'])
        assert.equal(await text(Buffer.from(words)), 201, words)
      for (const extension of ['png', 'jpg', 'webp', 'gif', 'pdf', 'mp4', 'mp3', 'zip'] as const)
        assert.equal(await text(sampleFiles[extension]), 400, extension)
    })

    test('refuses scripts, pages, SVG and executables under their own or another extension', async () => {
      const service = await newcomer()
      const before = await leftovers(service)
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
      assert.deepEqual(await leftovers(service), before)
    })

    test('refuses a file whose extension, declared type and signature disagree', async () => {
      const { api, user } = await newcomer()
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

    test('says which type to declare when only that one disagrees', async () => {
      const { api, user } = await newcomer()
      const webp = { name: 'x.webp', bytes: sampleFiles.webp }

      const { status, body } = await upload(api, user, {
        ...webp,
        type: 'application/octet-stream',
      })

      assert.equal(status, 400)
      assert.equal(
        body.detail,
        'declared application/octet-stream, expected image/webp: send type=image/webp',
      )
      assert.equal((await upload(api, user, { ...webp, type: 'image/webp' })).status, 201)
    })

    test('ignores up to 20 text fields of 8 KiB together beside the file', async () => {
      const service = await newcomer()
      const { api, user: token } = service
      const withFields = async (count: number, bytes: number) => {
        const body = new FormData()
        for (let field = 0; field < count; field += 1)
          body.append(`field${field}`, field === 0 ? 'x'.repeat(bytes) : '')
        body.append(
          'file',
          new Blob([new Uint8Array(sampleFiles.png)], { type: 'image/png' }),
          'a.png',
        )
        return (await api.request('POST', '/file', { token, body })).status
      }

      assert.equal(await withFields(20, 8192), 201)
      const before = await leftovers(service)
      assert.equal(await withFields(21, 0), 400)
      assert.equal(await withFields(1, 8193), 400)
      assert.deepEqual(await leftovers(service), before)
    })

    test('refuses empty files, and text that is not UTF-8', async () => {
      const { api, user } = await newcomer()
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

    test('answers 401 before it reads a body, and 400 to a body that is not an upload', async () => {
      const service = await newcomer()
      const { api, user } = service
      const before = await leftovers(service)
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
      const second = await post(multipart, twice, user)
      assert.equal(second.status, 400)
      assert.equal(second.body.detail, 'The form has a second file, "b.txt". Send one.')
      assert.equal((await post(multipart, `${part('file', 'a.txt')}--b--`, user)).status, 201)
      assert.equal((await leftovers(service)).length, before.length + 1)
    })

    test('leaves nothing of an upload whose client disconnected', async () => {
      const service = await newcomer()
      const before = await leftovers(service)
      const leaving = new AbortController()
      const { readable, writable } = new TransformStream()
      const writer = writable.getWriter()
      const sending = service.api
        .request('POST', '/file', {
          token: service.user,
          headers: { 'content-type': 'multipart/form-data; boundary=b' },
          body: readable,
          signal: leaving.signal,
        })
        .catch(() => 'gone')
      const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
      await writer.write(Buffer.from(head))
      for (let chunk = 0; chunk < 20; chunk++) await writer.write(Buffer.alloc(65_536, 'a'))
      await until(async () => (await leftovers(service)).length > before.length)

      leaving.abort()

      assert.equal(await sending, 'gone')
      await until(async () => (await leftovers(service)).length === before.length)
    })
  })
