import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { type ApiReply, sampleFiles } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { engines, register, sharedStorage, upload } from './start-storage.ts'
import {
  base64,
  fileIdOf,
  locationOf,
  metadata,
  offsetOf,
  sha256,
  TUS,
  textOf,
  tusFor,
} from './tus-client.ts'

const answer = ({ status, body }: ApiReply) => [status, body.code]

for (const engine of engines)
  describe(`resumable uploads with tus 1.0.0, on ${engine.name}`, engine.options, () => {
    const shared = sharedStorage(engine, { STORAGE_FULL_MAX_FILE_SIZE: '1MB' })
    const start = async () => {
      const { api, user, clock, ...rest } = await shared.newcomer()
      return { ...rest, api, user, clock, tus: tusFor(api, user) }
    }

    test('OPTIONS says what is offered, without a token', async () => {
      const { api } = await start()

      const reply = await api.request('OPTIONS', '/file/uploads')

      assert.equal(reply.status, 204)
      const headers = ['resumable', 'version', 'extension', 'max-size', 'checksum-algorithm']
      assert.deepEqual(
        headers.map((name) => reply.headers.get(`tus-${name}`)),
        [
          '1.0.0',
          '1.0.0',
          'creation,creation-with-upload,expiration,checksum,termination',
          '1048576',
          'sha1,sha256',
        ],
      )
    })

    test('a request without the version, or with that of a draft, is 412 with Tus-Version, after 401', async () => {
      const { api, user } = await start()
      const call = (token: string | undefined, headers: Record<string, string>) =>
        api.request('POST', '/file/uploads', { headers, ...(token && { token }) })

      const missing = await call(user, {})
      const draft = await call(user, {
        'tus-resumable': '0.2.2',
        'upload-draft-interop-version': '6',
      })
      const anonymous = await call(undefined, {})

      for (const refused of [missing, draft]) {
        assert.deepEqual(answer(refused), [412, 'TUS_VERSION_UNSUPPORTED'])
        assert.equal(refused.headers.get('tus-version'), '1.0.0')
      }
      assert.equal(anonymous.status, 401)
      for (const reply of [missing, draft, anonymous])
        assert.equal(reply.headers.get('tus-resumable'), '1.0.0')
    })

    test('creation answers 201 with a path, an offset of 0 and an expiry; the id cannot be guessed', async () => {
      const { tus, clock } = await start()

      const reply = await tus.create()

      assert.equal(reply.status, 201)
      assert.match(locationOf(reply), /^\/file\/uploads\/[0-9a-f]{32,}$/)
      assert.equal(offsetOf(reply), 0)
      const expires = Date.parse(reply.headers.get('upload-expires') ?? '')
      assert.equal(Math.round((expires - clock().getTime()) / 1000), 86_400)
    })

    test('an upload in pieces becomes a file with its checksum, its name and one event', async () => {
      const { api, user, admin, tus } = await start()
      const bytes = textOf(1000)
      const location = locationOf(await tus.create({ name: 'dir\\sub/notes.txt', length: 1000 }))

      const first = await tus.patch(location, 0, bytes.subarray(0, 300))
      const between = await tus.head(location)
      const listed = await api.get('/file/list', { token: user })
      const last = await tus.patch(location, 300, bytes.subarray(300))

      assert.deepEqual([first.status, offsetOf(first), fileIdOf(first)], [204, 300, 0])
      assert.ok(first.headers.get('upload-expires'))
      assert.deepEqual([between.status, offsetOf(between)], [200, 300])
      assert.deepEqual(listed.body, [])
      assert.deepEqual([last.status, offsetOf(last)], [204, 1000])
      const info = await api.get(`/file/info/${fileIdOf(last)}`, { token: user })
      const { originalFilename, size, contentType, checksumSha256 } = info.body
      assert.deepEqual(
        [originalFilename, size, contentType, checksumSha256],
        ['notes.txt', 1000, 'text/plain', sha256(bytes)],
      )
      const content = await api.get(`/file/download/${fileIdOf(last)}`, { token: user })
      assert.ok(content.bytes.equals(bytes))
      const events = await api.get('/api/events?type=file.uploaded', { token: admin })
      const own = JSON.stringify(events.body).match(
        new RegExp(`"fileId":${fileIdOf(last)}\\b`, 'g'),
      )
      assert.equal(own?.length ?? 0, 1, JSON.stringify(events.body).slice(0, 300))
    })

    test('HEAD shows offset, length, metadata as sent and expiry, and is not cached', async () => {
      const { tus } = await start()
      const sent = `${metadata({ filename: 'a.txt' })},note,other ${base64('x')}`
      const location = locationOf(await tus.create({ headers: { 'upload-metadata': sent } }))

      const { status, headers } = await tus.head(location)

      const names = ['upload-offset', 'upload-length', 'upload-metadata', 'cache-control']
      assert.equal(status, 200)
      assert.deepEqual(
        names.map((name) => headers.get(name)),
        ['0', '100', sent, 'no-store'],
      )
      assert.ok(headers.get('upload-expires'))
    })

    test('creation may bring the first bytes, or all of them', async () => {
      const { api, user, tus } = await start()
      const bytes = textOf(100)

      const some = await tus.create({ body: bytes.subarray(0, 40) })
      const all = await tus.create({ body: bytes })

      assert.deepEqual([some.status, offsetOf(some), fileIdOf(some)], [201, 40, 0])
      assert.deepEqual([all.status, offsetOf(all)], [201, 100])
      const content = await api.get(`/file/download/${fileIdOf(all)}`, { token: user })
      assert.ok(content.bytes.equals(bytes))
    })

    test('metadata: name instead of filename, type by extension, unknown keys ignored, relativePath null', async () => {
      const { api, user, tus } = await start()
      const sent = metadata({ name: 'b.png', type: '', relativePath: 'null', caption: 'x' })
      const bytes = sampleFiles.png

      const reply = await tus.create({
        length: bytes.length,
        headers: { 'upload-metadata': sent },
        body: bytes,
      })

      const info = await api.get(`/file/info/${fileIdOf(reply)}`, { token: user })
      assert.deepEqual([info.body.originalFilename, info.body.contentType], ['b.png', 'image/png'])
    })

    test('metadata: folder, and the folders of relativePath below it, are made with the file', async () => {
      const { api, user, tus } = await start()
      const bytes = textOf(100)
      const places: Record<string, string>[] = [
        { filename: 'a.txt', folder: '/in' },
        { filename: 'a.txt', folder: '/in', relativePath: 'of/2026/a.txt' },
        { filename: 'a.txt', relativePath: '/top/a.txt' },
        { filename: 'a.txt', relativePath: 'a.txt' },
      ]

      const begun = await tus.create({ headers: { 'upload-metadata': metadata(places[0] ?? {}) } })
      const pending = await api.get(locationOf(begun), { token: user })
      const before = await api.get('/file/folders', { token: user })
      await tus.patch(locationOf(begun), 0, bytes)
      const replies = []
      for (const place of places.slice(1))
        replies.push(
          await tus.create({ headers: { 'upload-metadata': metadata(place) }, body: bytes }),
        )

      assert.deepEqual([pending.body.folder, before.body.folders], ['/in', []])
      const found = await Promise.all(
        replies.map((reply) => api.get(`/file/info/${fileIdOf(reply)}`, { token: user })),
      )
      assert.deepEqual(
        found.map(({ body }) => body.folder),
        ['/in/of/2026', '/top', '/'],
      )
      const listed = await api.get('/file/list', { token: user })
      assert.equal(listed.body.at(-1).folder, '/in')
    })

    for (const [what, headers] of [
      ['without a length', { 'upload-length': '' }],
      ['with a bad length', { 'upload-length': '1e3' }],
      ['with a length of 0', { 'upload-length': '0' }],
      ['without a name', { 'upload-metadata': metadata({ filetype: 'text/plain' }) }],
      ['with malformed metadata', { 'upload-metadata': 'filename a.txt!' }],
      ['with a repeated key', { 'upload-metadata': `filename ${base64('a.txt')},filename` }],
      ['with a name that is not UTF-8', { 'upload-metadata': 'filename /////w==' }],
      ['with a bad folder', { 'upload-metadata': metadata({ filename: 'a.txt', folder: 'x' }) }],
      [
        'with a bad folder in relativePath',
        { 'upload-metadata': metadata({ filename: 'a.txt', relativePath: 'x/../a.txt' }) },
      ],
      [
        'that replaces something without an id',
        { 'upload-metadata': metadata({ filename: 'a.txt', replaces: '-1' }) },
      ],
      ['with a bad sha256', { 'upload-metadata': metadata({ filename: 'a.txt', sha256: 'abc' }) }],
      ['with a deferred length', { 'upload-defer-length': '1' }],
      ['of a part of parallel uploads', { 'upload-concat': 'partial' }],
    ] as const)
      test(`a creation ${what} is 400`, async () => {
        const { api, user, tus } = await start()

        const refused = await tus.create({ headers })

        assert.deepEqual(answer(refused), [400, 'VALIDATION_ERROR'])
        assert.equal(refused.headers.get('tus-resumable'), '1.0.0')
        const usage = await api.get('/file/usage', { token: user })
        assert.equal(usage.body.uploadingFiles, 0)
      })

    test('a creation is refused for its extension, its declared type and its size, as a form upload', async () => {
      const { tus } = await start()
      const typed = (filename: string, filetype: string) => ({
        headers: { 'upload-metadata': metadata({ filename, filetype }) },
      })

      const replies = [
        await tus.create(typed('a.exe', '')),
        await tus.create(typed('a.png', 'text/plain')),
        await tus.create({ length: 1024 * 1024 + 1 }),
      ]

      assert.deepEqual(replies.map(answer), [
        [400, 'UNSUPPORTED_FILE_TYPE'],
        [400, 'FILE_TYPE_MISMATCH'],
        [413, 'FILE_TOO_LARGE'],
      ])
    })

    test('PATCH: wrong type 415, bad offset 400, another offset 409, beyond the length 413; nothing is kept', async () => {
      const { tus } = await start()
      const location = locationOf(await tus.create({ body: textOf(10) }))
      const tooMuch = new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array(textOf(91)))
          controller.close()
        },
      })

      const replies = [
        await tus.patch(location, 10, textOf(5), { 'content-type': 'text/plain' }),
        await tus.patch(location, '-1', textOf(5)),
        await tus.patch(location, 0, textOf(5)),
        await tus.patch(location, 10, textOf(91)),
        await tus.patch(location, 10, tooMuch),
      ]

      assert.deepEqual(replies.map(answer), [
        [415, 'UNSUPPORTED_MEDIA_TYPE'],
        [400, 'VALIDATION_ERROR'],
        [409, 'OFFSET_MISMATCH'],
        [413, 'FILE_TOO_LARGE'],
        [413, 'FILE_TOO_LARGE'],
      ])
      assert.equal(offsetOf(replies[2] as ApiReply), 10)
      assert.equal(offsetOf(await tus.head(location)), 10)
    })

    test('a body with a wrong checksum is 460 and leaves the offset; a right one counts; others are 400', async () => {
      const { tus } = await start()
      const bytes = textOf(100)
      const location = locationOf(await tus.create())
      const checksum = (algorithm: string, of: Buffer) => ({
        'upload-checksum': `${algorithm} ${createHash(algorithm).update(of).digest('base64')}`,
      })
      const send = (headers: Record<string, string>, offset = 0) =>
        tus.patch(location, offset, bytes.subarray(offset, offset + 50), headers)

      const wrong = await send(checksum('sha1', textOf(7)))
      const unknown = await send(checksum('md5', bytes.subarray(0, 50)))
      const malformed = await send({ 'upload-checksum': 'sha1 abc' })
      const before = await tus.head(location)
      const right = await send(checksum('sha1', bytes.subarray(0, 50)))
      const last = await send(checksum('sha256', bytes.subarray(50)), 50)

      assert.deepEqual(answer(wrong), [460, 'CHECKSUM_MISMATCH'])
      assert.deepEqual([unknown, malformed].map(answer), [
        [400, 'VALIDATION_ERROR'],
        [400, 'VALIDATION_ERROR'],
      ])
      assert.equal(offsetOf(before), 0)
      assert.deepEqual([right.status, last.status], [204, 204])
      assert.ok(fileIdOf(last) > 0)
    })

    test('content that is not of its type ends the upload at 64 bytes, or at the end; its room is free again', async () => {
      const { api, user, tus } = await start()
      const png = locationOf(await tus.create({ name: 'a.png', length: 1000 }))
      const text = locationOf(await tus.create({ name: 'a.txt', length: 1000 }))
      await tus.patch(png, 0, textOf(40))

      const early = await tus.patch(png, 40, textOf(24))
      await tus.patch(text, 0, textOf(999))
      const late = await tus.patch(text, 999, Buffer.from([0]))

      assert.deepEqual([early, late].map(answer), [
        [400, 'FILE_TYPE_MISMATCH'],
        [400, 'FILE_TYPE_MISMATCH'],
      ])
      for (const location of [png, text]) assert.equal((await tus.head(location)).status, 404)
      const { body } = await api.get('/file/usage', { token: user })
      assert.deepEqual([body.files, body.uploadingFiles, body.uploadingBytes], [0, 0, 0])
    })

    test('a file without the announced sha256 is 400 CHECKSUM_MISMATCH, and the upload is gone', async () => {
      const { tus } = await start()
      const announcing = (digest: string) => ({
        headers: { 'upload-metadata': metadata({ filename: 'a.txt', sha256: digest }) },
      })
      const wrong = locationOf(await tus.create(announcing(sha256(textOf(99)))))
      const right = locationOf(await tus.create(announcing(sha256(textOf(100)).toUpperCase())))

      const refused = await tus.patch(wrong, 0, textOf(100))
      const accepted = await tus.patch(right, 0, textOf(100))

      assert.deepEqual(answer(refused), [400, 'CHECKSUM_MISMATCH'])
      assert.equal((await tus.head(wrong)).status, 404)
      assert.equal(accepted.status, 204)
    })

    test('a finished upload is remembered with its file; an empty PATCH there is 204; one upload is one file', async () => {
      const { api, user, tus } = await start()
      const location = locationOf(await tus.create())
      const last = await tus.patch(location, 0, textOf(100))

      const head = await tus.head(location)
      const empty = await tus.patch(location, 100)
      const more = await tus.patch(location, 100, textOf(1))
      const again = await tus.patch(location, 0, textOf(100))
      const one = await api.get(location, { token: user })

      const id = fileIdOf(last)
      assert.deepEqual([offsetOf(head), fileIdOf(head)], [100, id])
      assert.deepEqual([empty.status, fileIdOf(empty)], [204, id])
      assert.deepEqual([more.status, again.status], [413, 409])
      assert.deepEqual([one.body.fileId, one.body.offset], [id, 100])
    })

    test('DELETE ends an upload, then 404; of a finished one the file stays', async () => {
      const { api, user, tus } = await start()
      const unfinished = locationOf(await tus.create({ body: textOf(10) }))
      const done = await tus.create({ body: textOf(100) })

      const replies = [await tus.cancel(unfinished), await tus.cancel(locationOf(done))]

      assert.deepEqual(
        replies.map(({ status }) => status),
        [204, 204],
      )
      const after = [await tus.head(unfinished), await tus.head(locationOf(done))]
      assert.deepEqual(
        after.map(({ status }) => status),
        [404, 404],
      )
      assert.equal((await tus.cancel(unfinished)).status, 404)
      const { body } = await api.get('/file/list', { token: user })
      assert.deepEqual(
        body.map(({ id }: { id: number }) => id),
        [fileIdOf(done)],
      )
    })

    test('an upload is only its creator’s: for others, administrators too, it is 404, and 401 comes first', async () => {
      const { api, admin, tus } = await start()
      const other = await register(api, `other-${sha256(textOf(3)).slice(0, 6)}-${Math.random()}`)
      const location = locationOf(await tus.create())

      for (const token of [other, admin]) {
        const theirs = tusFor(api, token)
        const replies = [
          await theirs.patch(location, 0, textOf(10)),
          await theirs.cancel(location),
          await api.get(location, { token }),
        ]
        assert.deepEqual(replies.map(answer), Array(3).fill([404, 'UPLOAD_NOT_FOUND']))
        assert.equal((await theirs.head(location)).status, 404)
      }
      assert.equal((await tusFor(api, undefined).head(location)).status, 401)
      assert.equal((await tus.head(location)).status, 200)
    })

    test('the list has the own unfinished uploads, newest first, and needs no Tus-Resumable', async () => {
      const { api, user, tus, clock } = await start()
      const first = locationOf(await tus.create({ name: 'first.txt', body: textOf(7) }))
      clock.advance(1)
      await tus.create({ name: 'second.txt' })
      await tus.create({ name: 'done.txt', body: textOf(100) })

      const list = await api.get('/file/uploads', { token: user })
      const one = await api.get(first, { token: user })

      assert.equal(list.status, 200)
      const seen = list.body.map(({ filename }: { filename: string }) => filename)
      assert.deepEqual(seen, ['second.txt', 'first.txt'])
      const { uploadId, folder, offset, length, fileId } = one.body
      assert.deepEqual(
        [`/file/uploads/${uploadId}`, folder, offset, length, fileId],
        [first, '/', 7, 100, null],
      )
      assert.ok(one.body.createdAt && one.body.expiresAt)
    })

    test('X-HTTP-Method-Override works on POST of an upload, and nowhere else', async () => {
      const { api, user, tus } = await start()
      const location = locationOf(await tus.create())
      const post = (path: string, method: string, headers = {}, body?: Buffer) =>
        api.request('POST', path, {
          token: user,
          headers: { ...TUS, 'x-http-method-override': method, ...headers },
          ...(body && { body: new Uint8Array(body) }),
        })

      const chunk = { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' }
      const patched = await post(location, 'PATCH', chunk, textOf(10))
      const head = await post(location, 'HEAD')
      const none = await post(location, 'PUT')
      const elsewhere = await post('/file/uploads', 'DELETE')
      const deleted = await post(location, 'DELETE')

      assert.deepEqual([patched.status, offsetOf(patched)], [204, 10])
      assert.deepEqual([head.status, offsetOf(head)], [200, 10])
      assert.deepEqual([none.status, elsewhere.status, deleted.status], [405, 400, 204])
      assert.equal((await tus.head(location)).status, 404)
    })

    test('/actuator/prometheus counts each upload once, when it becomes a file or is refused for good', async () => {
      const { api, user, tus, server } = await start()
      const counted = async () => {
        const families = await server.metrics.read()
        const samplesOf = (metric: string) =>
          families.find(({ name }) => name === metric)?.samples ?? []
        const sumOf = (metric: string, result?: string) =>
          samplesOf(metric)
            .filter(({ labels }) => labels.result === result)
            .reduce((sum, sample) => sum + ('value' in sample ? sample.value : 0), 0)
        const results = ['accepted', 'refused', 'limited', 'failed'] as const
        return [
          ...results.map((result) => sumOf('plinth_uploads_total', result)),
          sumOf('plinth_upload_bytes_total'),
        ]
      }
      const before = await counted()

      const location = locationOf(await tus.create({ length: 100 }))
      await tus.patch(location, 0, textOf(60))
      await tus.patch(location, 0, textOf(60))
      await tus.patch(location, 60, textOf(40))
      await tus.patch(location, 100)
      await tus.head(location)
      await tus.create({ length: 10, body: textOf(10) })
      await upload(api, user)
      const picture = locationOf(await tus.create({ name: 'a.png', length: 100 }))
      await tus.patch(picture, 0, textOf(100))
      await tus.patch(picture, 0, textOf(100))
      await tus.create({ name: 'a.exe' })
      const expected = [3, 2, 0, 0, 110 + sampleFiles.png.length]
      // Replies are counted after they were sent.
      const added = await until(
        async () => (await counted()).map((value, index) => value - (before[index] ?? 0)),
        (values) => values.every((value, index) => value >= (expected[index] ?? 0)),
      )

      assert.deepEqual(added, expected)
    })

    test('the total of the list and the usage leave unfinished uploads out', async () => {
      const { api, user, tus } = await start()
      await upload(api, user)
      await tus.create({ length: 5000 })

      const list = await api.get('/file/list?page=0&size=10', { token: user })
      const usage = await api.get('/file/usage', { token: user })

      assert.equal(list.headers.get('x-total-count'), '1')
      const { files, bytes, uploadingFiles, uploadingBytes } = usage.body
      assert.deepEqual(
        [files, bytes, uploadingFiles, uploadingBytes],
        [1, sampleFiles.png.length, 1, 5000],
      )
    })
  })
