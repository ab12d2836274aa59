import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import sharp from 'sharp'
import { engines, sharedStorage, upload } from './start-storage.ts'

for (const engine of engines)
  describe(`GET /file/presigned/{token}/picture, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)
    const linked = async () => {
      const service = await newcomer()
      const { api, user } = service
      const create = { width: 400, height: 200, channels: 3, background: '#a33' } as const
      const { body } = await upload(api, user, { bytes: await sharp({ create }).png().toBuffer() })
      const { id } = body
      const made = await api.post(
        '/file/generate-pre-signed-url',
        { id, expiresInSeconds: 60 },
        { token: user },
      )
      const path = `/file/presigned/${made.body.token}`
      const ask = (query: string, headers: Record<string, string> = {}, method = 'GET') =>
        api.request(method, `${path}/picture?${query}`, { headers })
      const openings = async () =>
        (await api.get(`/file/${id}/links`, { token: user })).body[0].openedCount
      return { ...service, id, path, ask, openings }
    }

    test('draws with the same parameters, and with the headers of the link', async () => {
      const { api, path, ask } = await linked()
      const plain = await api.get(path)

      const reply = await ask('width=64', { accept: 'image/webp' })

      assert.equal(reply.headers.get('content-type'), 'image/webp')
      const { width, height } = await sharp(reply.bytes).metadata()
      assert.deepEqual([width, height], [64, 32])
      assert.match(reply.headers.get('vary') ?? '', /accept/i)
      for (const name of [
        'cache-control',
        'x-robots-tag',
        'content-security-policy',
        'cross-origin-resource-policy',
        'referrer-policy',
      ])
        assert.equal(reply.headers.get(name), plain.headers.get(name), name)
      assert.equal((await ask('width=65')).body.code, 'PICTURE_NOT_OFFERED')
    })

    test('counts as an opening; HEAD and a refused request do not', async () => {
      const { ask, openings } = await linked()

      const { headers } = await ask('width=64')
      await ask('width=64', { 'if-none-match': headers.get('etag') ?? '' })
      await ask('width=64', {}, 'HEAD')
      await ask('width=65')

      assert.equal(await openings(), 2)
    })

    test('a dead link is 404, whatever is kept', async () => {
      const { api, clock, ask } = await linked()
      await ask('width=64')
      const forged = await api.get('/file/presigned/x/picture?width=64')
      clock.advance(60)

      const dead = await ask('width=64')

      assert.deepEqual([dead.status, dead.body.code], [404, 'LINK_NOT_FOUND'])
      assert.deepEqual([forged.status, forged.body.code], [404, 'LINK_NOT_FOUND'])
    })

    test('without a picture behind it, 422', async () => {
      const { api, user } = await newcomer()
      const bytes = Buffer.from('hello')
      const { body } = await upload(api, user, { name: 'x.txt', type: 'text/plain', bytes })
      const link = { id: body.id, expiresInSeconds: 60 }
      const made = await api.post('/file/generate-pre-signed-url', link, { token: user })

      const reply = await api.get(`/file/presigned/${made.body.token}/picture?width=64`)

      assert.deepEqual([reply.status, reply.body.code], [422, 'NO_PICTURE'])
    })
  })
