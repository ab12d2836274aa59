import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type Api, spawnService } from '@plinth/kit/testing'
import sharp from 'sharp'
import { until } from '../../../test/until.ts'
import {
  engines,
  logIn,
  sharedStorage,
  storageEnv,
  temporaryFolder,
  upload,
} from './start-storage.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const SIZES = [64, 128, 256, 384, 512, 640, 750, 828, 1080, 1200, 1600, 1920, 2048]
const COMBINATIONS = SIZES.flatMap((size) =>
  ['jpeg', 'webp'].flatMap((format) =>
    [50, 65, 80, 90].map((quality) => `width=${size}&format=${format}&quality=${quality}`),
  ),
)

// Whose turn it is to draw is the same on every database.
for (const engine of engines.slice(0, 1))
  describe('turns of pictures', engine.options, () => {
    const { newcomer } = sharedStorage(engine)
    const pictureOf = async (user: string, api: Api) => {
      const create = { width: 60, height: 60, channels: 3, background: '#a33' } as const
      const bytes = await sharp({ create }).png().toBuffer()
      return (await upload(api, user, { bytes })).body.id as number
    }

    // A process of its own: with both ends of 728 connections this one would need more than 1,024 open files.
    test('too many waiting: 503 PICTURES_BUSY with Retry-After; a kept one does not wait', async (t) => {
      const env = { ...storageEnv(await temporaryFolder(t)), LOG_LEVEL: 'info' }
      const { api } = await spawnService(t, MAIN, env)
      const user = await logIn(api, 'user')
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

    test('six accounts with one long animation each do not keep another user waiting', async () => {
      const { api, user: patient, config } = await newcomer()
      const own = await pictureOf(patient, api)
      const animation = { name: 'x.webp', type: 'image/webp', bytes: await longAnimation() }
      let finished = 0
      const storm = Array.from({ length: 6 }, async () => {
        const { user: attacker } = await newcomer()
        const { body } = await upload(api, attacker, animation)
        const path = `/file/picture/${body.id}?width=750&format=webp`
        const { status } = await api.get(path, { token: attacker })
        finished += 1
        return status
      })
      await until(
        () => readdir(config.spoolFolder),
        (names) => names.length >= 5,
      )

      const replies = await Promise.all([
        api.get(`/file/thumbnail/${own}`, { token: patient }),
        api.get(`/file/picture/${own}?width=64`, { token: patient }),
      ])
      const before = finished
      const statuses = await Promise.all(storm)

      assert.deepEqual(
        replies.map(({ headers }) => headers.get('content-type')),
        ['image/jpeg', 'image/jpeg'],
      )
      assert.ok(before <= 3, `${before} animations were drawn first`)
      assert.deepEqual(new Set(statuses), new Set([200]))
    })
  })

/** Small to upload, because its frames repeat a tile, and slow to encode. */
function longAnimation(): Promise<Buffer> {
  const [side, frames] = [400, 60]
  const tile = randomBytes(1024)
  const raw = Buffer.alloc(side * side * frames * 3)
  for (let pixel = 0; pixel < side * side * frames; pixel += 1) {
    const [x, y, frame] = [pixel % side, Math.floor(pixel / side), Math.floor(pixel / side / side)]
    raw.fill(tile[((x + frame) % 32) + 32 * ((y + frame) % 32)] ?? 0, pixel * 3, pixel * 3 + 2)
  }
  return sharp(raw, {
    raw: { width: side, height: side * frames, channels: 3, pageHeight: side },
  })
    .webp({ lossless: true, effort: 0 })
    .toBuffer()
}
