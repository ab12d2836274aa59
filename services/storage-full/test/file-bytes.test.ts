import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { startStorage, upload } from './start-storage.ts'

const CHECKSUM = createHash('sha256').update(sampleFiles.png).digest('hex')

describe('GET /file/stream/{id} and /file/download/{id}', () => {
  test('stream the bytes inline and download them as an attachment', async (t) => {
    const { api, user } = await startStorage(t)
    const { body } = await upload(api, user, { name: 'Grüße.png' })

    const streamed = await api.get(`/file/stream/${body.id}`, { token: user })
    const downloaded = await api.get(`/file/download/${body.id}`, { token: user })

    const name = `filename="Gr__e.png"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.png`
    assert.equal(streamed.headers.get('content-disposition'), `inline; ${name}`)
    assert.equal(downloaded.headers.get('content-disposition'), `attachment; ${name}`)
    for (const reply of [streamed, downloaded]) {
      assert.equal(reply.status, 200)
      assert.ok(reply.bytes.equals(sampleFiles.png))
      assert.equal(reply.headers.get('content-type'), 'image/png')
      assert.equal(reply.headers.get('content-length'), String(sampleFiles.png.length))
      assert.equal(reply.headers.get('accept-ranges'), 'bytes')
      assert.equal(reply.headers.get('etag'), `"${CHECKSUM}"`)
      assert.equal(reply.headers.get('x-content-type-options'), 'nosniff')
      assert.equal(
        reply.headers.get('repr-digest'),
        `sha-256=:${Buffer.from(CHECKSUM, 'hex').toString('base64')}:`,
      )
      assert.match(reply.headers.get('content-security-policy') ?? '', /sandbox/)
      assert.equal(reply.headers.get('cross-origin-resource-policy'), 'same-origin')
      assert.match(reply.headers.get('cache-control') ?? '', /private/)
    }
  })

  test('answer ranges, conditions and HEAD as RFC 9110 says', async (t) => {
    const { api, user } = await startStorage(t)
    const { body } = await upload(api, user)
    const path = `/file/stream/${body.id}`
    const size = sampleFiles.png.length
    const get = (headers: Record<string, string>) => api.get(path, { token: user, headers })

    const first = await get({ range: 'bytes=0-0' })
    const rest = await get({ range: 'bytes=5-' })
    const last = await get({ range: 'bytes=-3' })
    const outside = await get({ range: `bytes=${size}-` })
    const several = await get({ range: 'bytes=0-1,3-4' })
    const unchanged = await get({ 'if-none-match': `"${CHECKSUM}"` })
    const stale = await get({ range: 'bytes=0-0', 'if-range': '"other"' })
    const head = await api.head(path, { token: user })

    assert.deepEqual([first.status, first.bytes], [206, sampleFiles.png.subarray(0, 1)])
    assert.equal(first.headers.get('content-range'), `bytes 0-0/${size}`)
    assert.deepEqual([rest.status, rest.bytes], [206, sampleFiles.png.subarray(5)])
    assert.deepEqual([last.status, last.bytes], [206, sampleFiles.png.subarray(-3)])
    assert.equal(outside.status, 416)
    assert.equal(outside.headers.get('content-range'), `bytes */${size}`)
    assert.deepEqual([several.status, several.bytes.length], [200, size])
    assert.deepEqual([unchanged.status, unchanged.bytes.length], [304, 0])
    assert.deepEqual([stale.status, stale.bytes.length], [200, size])
    assert.deepEqual([head.status, head.bytes.length], [200, 0])
    assert.equal(head.headers.get('content-length'), String(size))
  })

  test('carry a hostile name in one well-formed header only', async (t) => {
    const { api, user } = await startStorage(t)
    const names = [
      '../../etc/passwd.png',
      'C:\\x\\y.png',
      'a"b;c.png',
      '\u202egnp.exe.png',
      '😀.png',
    ]
    for (const name of names) {
      const { status, body } = await upload(api, user, { name })
      assert.equal(status, 201, name)

      const reply = await api.get(`/file/download/${body.id}`, { token: user })

      const disposition = reply.headers.get('content-disposition') ?? ''
      assert.match(disposition, /^attachment; filename="[^"\\/]+"; filename\*=UTF-8''[\w.%!~-]+$/)
      assert.match(body.storedFilename, /^[0-9a-f-]{36}\.png$/)
      assert.doesNotMatch(body.originalFilename, /[/\\]/)
    }
  })

  test('give an empty answer to nobody: a text and a large file come back whole', async (t) => {
    const { api, user } = await startStorage(t)
    const large = Buffer.concat([sampleFiles.mp3, randomBytes(5_000_000)])
    const { body } = await upload(api, user, { name: 'song.mp3', type: 'audio/mpeg', bytes: large })

    const reply = await api.get(`/file/stream/${body.id}`, { token: user })

    assert.ok(reply.bytes.equals(large))
  })

  test('answer 503 when the bytes are gone, and never name a path', async (t) => {
    const { api, user, root } = await startStorage(t)
    const { body } = await upload(api, user)
    const { rm } = await import('node:fs/promises')
    await rm(`${root}/files`, { recursive: true })

    const reply = await api.get(`/file/stream/${body.id}`, { token: user })

    assert.equal(reply.status, 503)
    assert.equal(reply.body.code, 'STORED_BYTES_MISSING')
    assert.equal(reply.headers.get('etag'), null)
    assert.doesNotMatch(JSON.stringify(reply.body), /files|tmp/)
  })
})
