import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, sharedStorage, type TestStorage, upload } from './start-storage.ts'

const many = <T>(count: number, of: (n: number) => T) =>
  Array.from({ length: count }, (_, n) => of(n))

for (const engine of engines)
  describe(`changing a file, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)
    const change = ({ api, user: token }: TestStorage, id: number, body: object) =>
      api.patch(`/file/${id}`, body, { token })

    test('PATCH changes name, folder, tags and metadata; bytes, ETag and links stay', async () => {
      const service = await newcomer()
      const { api, user: token, clock } = service
      const { body: file } = await upload(api, token)
      const wanted = { id: file.id, expiresInSeconds: 600 }
      const link = await api.post('/file/generate-pre-signed-url', wanted, { token })
      const before = await api.get(`/file/download/${file.id}`, { token })
      clock.advance(1)
      const changes = {
        originalFilename: 'Strand.png',
        folder: '/holidays/2026',
        tags: ['Beach', 'sea'],
        metadata: { camera: 'X100', 'shot.by': 'Ada' },
      }

      const { status, body } = await change(service, file.id, changes)

      assert.equal(status, 200)
      const { updatedAt, ...rest } = body
      const { updatedAt: _, ...unchanged } = file
      assert.deepEqual(rest, { ...unchanged, ...changes })
      assert.ok(updatedAt > file.updatedAt)
      assert.deepEqual((await api.get(`/file/info/${file.id}`, { token })).body, body)
      const after = await api.get(`/file/download/${file.id}`, { token })
      assert.equal(after.headers.get('etag'), before.headers.get('etag'))
      assert.ok(after.headers.get('content-disposition')?.includes('Strand.png'))
      assert.equal((await api.get(`/file/presigned/${link.body.token}`)).status, 200)
    })

    test('a member that is given replaces the old value whole; one that is absent stays', async () => {
      const service = await newcomer()
      const { body: file } = await upload(service.api, service.user, { folder: '/a' })
      await change(service, file.id, { tags: ['x', 'y'], metadata: { a: '1', b: '2' } })

      const { body } = await change(service, file.id, { tags: ['z'], metadata: { c: '3' } })
      const moved = await change(service, file.id, { folder: '/' })
      const nothing = await change(service, file.id, { unknown: true })

      const { tags, metadata, folder, originalFilename } = body
      assert.deepEqual(
        { tags, metadata, folder, originalFilename },
        { tags: ['z'], metadata: { c: '3' }, folder: '/a', originalFilename: 'picture.png' },
      )
      assert.deepEqual([moved.body.folder, moved.body.tags], ['/', ['z']])
      assert.deepEqual([nothing.status, nothing.body], [200, moved.body])
    })

    for (const [what, body] of [
      ['an empty name', { originalFilename: '' }],
      ['a name of 256 characters', { originalFilename: `${'a'.repeat(252)}.png` }],
      ['a name with a slash', { originalFilename: 'a/b.png' }],
      ['a name with a backslash', { originalFilename: 'a\\b.png' }],
      ['a name with a control character', { originalFilename: 'a\u0000.png' }],
      ['a name with half a character', { originalFilename: 'a\ud800.png' }],
      ['a name with the extension of another type', { originalFilename: 'a.jpg' }],
      ['a name without an extension', { originalFilename: 'picture' }],
      ['no name', { originalFilename: null }],
      ['a bad folder', { folder: 'a' }],
      ['no folder', { folder: null }],
      ['21 tags', { tags: many(21, String) }],
      ['a tag of 65 characters', { tags: ['a'.repeat(65)] }],
      ['an empty tag', { tags: [''] }],
      ['a tag with NUL', { tags: ['a\u0000'] }],
      ['a tag with half a character', { tags: ['a\ud800'] }],
      ['tags that differ only in case', { tags: ['É', 'é'] }],
      ['no tags', { tags: null }],
      ['21 entries of metadata', { metadata: Object.fromEntries(many(21, (n) => [`k${n}`, ''])) }],
      ['a bad name of metadata', { metadata: { 'a b': '' } }],
      ['metadata that is not text', { metadata: { a: 1 } }],
      ['metadata of 1,025 characters', { metadata: { a: 'a'.repeat(1025) } }],
      ['no metadata', { metadata: null }],
    ] as const)
      test(`${what}: 400, and nothing changes`, async () => {
        const service = await newcomer()
        const { body: file } = await upload(service.api, service.user)

        const { status } = await change(service, file.id, {
          ...body,
          ...(!('tags' in body) && { tags: ['new'] }),
        })

        assert.equal(status, 400)
        const { body: info } = await service.api.get(`/file/info/${file.id}`, {
          token: service.user,
        })
        assert.deepEqual(info, file)
      })

    test('a name with the extension of another type is refused with those that it may have', async () => {
      const service = await newcomer()
      const { body: file } = await upload(service.api, service.user)

      const { status, body } = await change(service, file.id, { originalFilename: 'a.JPG' })

      assert.deepEqual([status, body.code], [400, 'FILE_TYPE_MISMATCH'])
      assert.equal(
        body.detail,
        'The file is image/png, so its name must end in .png; .jpg is for image/jpeg.',
      )
      assert.deepEqual(body.claims, { extension: 'jpg', declaredType: 'png', content: null })
    })

    test('the limits themselves are accepted', async () => {
      const service = await newcomer()
      const { body: file } = await upload(service.api, service.user)

      const { status } = await change(service, file.id, {
        originalFilename: `${'😀'.repeat(251)}.png`,
        tags: many(20, (n) => `${'é'.repeat(62)}${10 + n}`),
        metadata: Object.fromEntries(many(20, (n) => [`k${n}`, 'é'.repeat(1024)])),
      })

      assert.equal(status, 200)
    })

    test('401 without a token, 404 for no file, 403 for the file of another; an administrator may', async () => {
      const service = await newcomer()
      const other = await newcomer()
      const { api, admin } = service
      const { body: file } = await upload(api, service.user, { folder: '/mine' })
      const body = { folder: '/theirs', tags: ['seen'] }

      const statuses = [
        (await api.patch(`/file/${file.id}`, body)).status,
        (await change(service, 999_999_999, body)).status,
        (await change(other, file.id, body)).status,
      ]
      const asAdmin = await change({ ...service, user: admin }, file.id, body)

      assert.deepEqual(statuses, [401, 404, 403])
      assert.deepEqual([asAdmin.status, asAdmin.body.folder], [200, '/theirs'])
      const { body: listed } = await api.get('/file/folders', { token: service.user })
      assert.deepEqual(
        listed.folders.map(({ name }: { name: string }) => name),
        ['mine', 'theirs'],
      )
      const audit = await api.get('/api/audit?event=FILE_CHANGED', { token: admin })
      assert.equal(audit.body.content[0]?.reason, `file ${file.id}`, JSON.stringify(audit.body))
    })

    test('changes at the same time are all kept', async () => {
      const service = await newcomer()
      const { body: file } = await upload(service.api, service.user)

      await Promise.all([
        change(service, file.id, { originalFilename: 'one.png' }),
        change(service, file.id, { tags: ['two'] }),
        change(service, file.id, { metadata: { three: '3' } }),
        change(service, file.id, { folder: '/four' }),
      ])

      const { body } = await service.api.get(`/file/info/${file.id}`, { token: service.user })
      assert.deepEqual(
        [body.originalFilename, body.tags, body.metadata, body.folder],
        ['one.png', ['two'], { three: '3' }, '/four'],
      )
    })
  })
