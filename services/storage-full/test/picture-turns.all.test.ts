import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import sharp from 'sharp'
import { engines, sharedStorage, upload } from './start-storage.ts'

const SIZES = [64, 128, 256, 384, 512, 640, 750, 828, 1080, 1200, 1600, 1920, 2048]
const COMBINATIONS = SIZES.flatMap((size) =>
  ['jpeg', 'webp'].flatMap((format) =>
    [50, 65, 80, 90].map((quality) => `width=${size}&format=${format}&quality=${quality}`),
  ),
)

for (const engine of engines)
  describe(`turns of pictures, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)
    const pictureOf = async (user: string, api: Awaited<ReturnType<typeof newcomer>>['api']) => {
      const create = { width: 60, height: 60, channels: 3, background: '#a33' } as const
      const bytes = await sharp({ create }).png().toBuffer()
      return (await upload(api, user, { bytes })).body.id as number
    }

    test('too many waiting: 503 PICTURES_BUSY with Retry-After; a kept one does not wait', async () => {
      const { api, user } = await newcomer()
      const ids = []
      for (let count = 0; count < 7; count += 1) ids.push(await pictureOf(user, api))
      // Of its own, because the storm leaves only the last renditions of each picture.
      const calm = await pictureOf(user, api)
      const ask = (id: number, query: string) =>
        api.get(`/file/picture/${id}?${query}`, { token: user })
      await ask(calm, 'width=64&format=png')
      let finished = 0
      const storm = ids.flatMap((id) =>
        COMBINATIONS.map(async (query) => {
          const reply = await ask(id, query)
          finished += 1
          return reply
        }),
      )

      const kept = await ask(calm, 'width=64&format=png')
      const before = finished
      const replies = await Promise.all(storm)

      const busy = replies.filter(({ status }) => status === 503)
      assert.ok(replies.every(({ status }) => status === 200 || status === 503))
      assert.ok(busy.length > 0, 'none was refused')
      assert.ok(busy.every(({ body }) => body.code === 'PICTURES_BUSY'))
      assert.ok(busy.every(({ headers }) => Number(headers.get('retry-after')) > 0))
      assert.equal(kept.status, 200)
      assert.ok(before < replies.length / 2, `${before} of ${replies.length} were first`)
    })

    test('a storm through a link takes turns of its owner, and delays no other user', async () => {
      const { api, user: owner } = await newcomer()
      const { user: patient } = await newcomer()
      const id = await pictureOf(owner, api)
      const own = await pictureOf(patient, api)
      const link = await api.post(
        '/file/generate-pre-signed-url',
        { id, expiresInSeconds: 60 },
        { token: owner },
      )
      let finished = 0
      const storm = COMBINATIONS.map(async (query) => {
        await api.get(`/file/presigned/${link.body.token}/picture?${query}`)
        finished += 1
      })

      const reply = await api.get(`/file/picture/${own}?width=64`, { token: patient })
      const before = finished
      await Promise.all(storm)

      assert.equal(reply.status, 200)
      assert.ok(before < COMBINATIONS.length / 2, `${before} were drawn first`)
    })
  })
