import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdir, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { engines, sharedStorage, upload } from './start-storage.ts'

const CHECKSUM = createHash('sha256').update(sampleFiles.png).digest('hex')

for (const engine of engines)
  describe(
    `GET /file/stream/{id} and /file/download/{id}, on ${engine.name}`,
    engine.options,
    () => {
      const { newcomer } = sharedStorage(engine)

      test('stream the bytes inline and download them as an attachment', async () => {
        const { api, user } = await newcomer()
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

      test('date the file with the reply after the clock was set back', async () => {
        const { api, user, clock } = await newcomer()
        const { body } = await upload(api, user)
        const uploaded = clock()
        clock.advance(-3600)

        const reply = await api.get(`/file/stream/${body.id}`, { token: user })
        const earlier = clock()
        clock.set(uploaded)

        assert.equal(reply.headers.get('last-modified'), earlier.toUTCString())
      })

      test('answer ranges as RFC 9110 says, and never more bytes than the file has', async () => {
        const { api, user } = await newcomer()
        const { body } = await upload(api, user)
        const size = sampleFiles.png.length
        const get = (range: string) =>
          api.get(`/file/stream/${body.id}`, { token: user, headers: { range } })

        for (const [range, start, end] of [
          ['bytes=0-0', 0, 0],
          ['bytes=5-', 5, size - 1],
          ['bytes=-3', size - 3, size - 1],
          [`bytes=-${size * 2}`, 0, size - 1],
          [`bytes=${size - 1}-${size * 9}`, size - 1, size - 1],
          ['bytes=0-99999999999999999999', 0, size - 1],
        ] as const) {
          const part = await get(range)
          assert.equal(part.status, 206, range)
          assert.equal(part.headers.get('content-range'), `bytes ${start}-${end}/${size}`)
          assert.ok(part.bytes.equals(sampleFiles.png.subarray(start, end + 1)), range)
        }
        for (const range of [`bytes=${size}-`, 'bytes=-0', 'bytes=99999999999999999999-']) {
          const outside = await get(range)
          assert.equal(outside.status, 416, range)
          assert.equal(outside.headers.get('content-range'), `bytes */${size}`)
          assert.equal(outside.body.code, 'RANGE_NOT_SATISFIABLE')
        }
        const many = `bytes=${Array.from({ length: 1000 }, (_, at) => `${at}-${at}`)}`
        for (const range of ['bytes=0-1,3-4', 'bytes=9-5', 'xbytes=1-2', 'bytes=x-y', many]) {
          const whole = await get(range)
          assert.deepEqual([whole.status, whole.bytes.length], [200, size], range.slice(0, 20))
        }
      })

      test('answer conditions and HEAD as RFC 9110 says', async () => {
        const { api, user } = await newcomer()
        const { body } = await upload(api, user)
        const path = `/file/download/${body.id}`
        const etag = `"${CHECKSUM}"`
        const modified = new Date(body.createdAt).toUTCString()
        const statusOf = async (headers: Record<string, string>) =>
          (await api.get(path, { token: user, headers })).status

        for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*'])
          assert.equal(await statusOf({ 'if-none-match': known }), 304, known)
        assert.equal(await statusOf({ 'if-none-match': '"other"' }), 200)
        assert.equal(await statusOf({ 'if-modified-since': modified }), 304)
        assert.equal(await statusOf({ 'if-match': etag }), 200)
        const changed = await api.get(path, { token: user, headers: { 'if-match': '"other"' } })
        assert.deepEqual([changed.status, changed.body.code], [412, 'PRECONDITION_FAILED'])
        assert.equal(changed.headers.get('etag'), etag)
        const yesterday = new Date(Date.parse(body.createdAt) - 86_400_000).toUTCString()
        assert.equal(await statusOf({ 'if-unmodified-since': yesterday }), 412)
        const range = 'bytes=0-0'
        for (const same of [etag, modified])
          assert.equal(await statusOf({ range, 'if-range': same }), 206, same)
        for (const other of ['"other"', `W/${etag}`, yesterday])
          assert.equal(await statusOf({ range, 'if-range': other }), 200, other)
        const head = await api.head(path, { token: user })
        assert.deepEqual([head.status, head.bytes.length], [200, 0])
        assert.equal(head.headers.get('content-length'), String(sampleFiles.png.length))
        assert.equal(head.headers.get('etag'), etag)
      })

      test('carry a hostile name in one well-formed header only', async () => {
        const { api, user } = await newcomer()
        const names = [
          '../../etc/passwd.png',
          'C:\\x\\y.png',
          'a"b;c.png',
          '\u202egnp.exe.png',
          '😀.png',
          `${'長'.repeat(300)}.png`,
          "it's (100%)*.png",
          'cafe\u0301.png',
        ]
        for (const name of names) {
          const { status, body } = await upload(api, user, { name })
          assert.equal(status, 201, name)

          const reply = await api.get(`/file/download/${body.id}`, { token: user })

          const disposition = reply.headers.get('content-disposition') ?? ''
          assert.match(
            disposition,
            /^attachment; filename="[^"\\/]+"; filename\*=UTF-8''[\w.%!~-]+$/,
          )
          assert.match(body.storedFilename, /^[0-9a-f-]{36}\.png$/)
          assert.doesNotMatch(body.originalFilename, /[/\\]/)
        }
      })

      test('return a large file complete', async () => {
        const { api, user } = await newcomer()
        const bytes = Buffer.concat([sampleFiles.mp3, randomBytes(5_000_000)])
        const { body } = await upload(api, user, { name: 'song.mp3', type: 'audio/mpeg', bytes })

        const reply = await api.get(`/file/stream/${body.id}`, { token: user })

        assert.ok(reply.bytes.equals(bytes))
      })

      test('answer 503 when the bytes are gone, and never name a path', async () => {
        const { api, user, root } = await newcomer()
        const { body } = await upload(api, user)
        const names = await readdir(root, { recursive: true })
        await rm(join(root, names.find((name) => name.endsWith(body.storedFilename)) ?? ''))

        const reply = await api.get(`/file/stream/${body.id}`, { token: user })

        assert.equal(reply.status, 503)
        assert.equal(reply.body.code, 'STORED_BYTES_MISSING')
        assert.equal(reply.headers.get('etag'), null)
        assert.doesNotMatch(JSON.stringify(reply.body), /files-|tmp/)
      })

      test('answer 503 when the file on disk has become shorter', async () => {
        const { api, user, root } = await newcomer()
        const { body } = await upload(api, user)
        const names = await readdir(root, { recursive: true })
        const stored = names.find((name) => name.endsWith(body.storedFilename)) ?? ''
        await truncate(join(root, stored), 50)

        const requests: Record<string, string>[] = [{}, { range: 'bytes=60-69' }]
        for (const headers of requests) {
          const reply = await api.get(`/file/stream/${body.id}`, { token: user, headers })

          assert.deepEqual([reply.status, reply.body.code], [503, 'STORAGE_UNAVAILABLE'])
        }
      })
    },
  )
