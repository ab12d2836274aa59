import assert from 'node:assert/strict'
import { readdir, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { armFailPoint } from '@plinth/kit/runtime'
import { sampleFiles } from '@plinth/kit/testing'
import sharp from 'sharp'
import { readPicture } from './read-picture.ts'
import { engines, register, sharedStorage, startStorage, upload } from './start-storage.ts'

const RED = { r: 200, g: 30, b: 30 }
const MODERN = 'image/avif,image/webp,*/*;q=0.8'

const photo = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: RED } })
    .jpeg()
    .toBuffer()

const jpeg = (bytes: Buffer) => ({ name: 'a photo.jpg', type: 'image/jpeg', bytes })

/** From now on making a picture fails at this step. */
function failAt(t: TestContext, step: string): void {
  armFailPoint({ NODE_ENV: 'test', FAIL_POINT: `${step}=error` })
  t.after(() => armFailPoint({}))
}

async function renditionsIn(root: string, storedFilename: string): Promise<string[]> {
  const names = await readdir(root, { recursive: true })
  return names.filter((name) => name.includes(`${storedFilename}.picture-`))
}

for (const engine of engines)
  describe(`GET /file/picture/{id}, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine, {
      STORAGE_FULL_PICTURE_PRESETS:
        'avatar:width=96&height=96&fit=cover,hero:width=300&format=webp',
    })

    /** A new user with one file, and a function that asks for its picture. */
    const withFile = async (bytes?: Buffer, type = 'image/jpeg', name = 'a photo.jpg') => {
      const service = await newcomer()
      const file = await upload(service.api, service.user, {
        name,
        type,
        bytes: bytes ?? (await photo(400, 200)),
      })
      const ask = (query: string, headers: Record<string, string> = {}, method = 'GET') =>
        service.api.request(method, `/file/picture/${file.body.id}?${query}`, {
          token: service.user,
          headers,
        })
      const sizeOf = async (query: string) => {
        const { width, height } = await sharp((await ask(query)).bytes).metadata()
        return [width, height]
      }
      return { ...service, file: file.body, ask, sizeOf }
    }

    test('draws inside the given sides, and never larger than the original', async () => {
      const { sizeOf } = await withFile()

      assert.deepEqual(await sizeOf('width=256'), [256, 128])
      assert.deepEqual(await sizeOf('height=64'), [128, 64])
      assert.deepEqual(await sizeOf('width=256&height=64'), [128, 64])
      assert.deepEqual(await sizeOf('width=640'), [400, 200])
    })

    test('cover fills both sides from the centre, or gives the largest crop of that shape', async () => {
      const left = { input: await photo(100, 200), left: 0, top: 0 }
      const grey = { create: { width: 400, height: 200, channels: 3, background: '#888' } } as const
      const bytes = await sharp(grey).composite([left]).png().toBuffer()
      const { ask, sizeOf } = await withFile(bytes, 'image/png', 'x.png')

      assert.deepEqual(await sizeOf('width=64&height=128&fit=cover'), [64, 128])
      assert.deepEqual(await sizeOf('width=640&height=640&fit=cover'), [200, 200])
      const { bytes: square } = await ask('width=128&height=128&fit=cover&format=png')
      const { data } = await sharp(square).raw().toBuffer({ resolveWithObject: true })
      const middle = 3 * (64 * 128 + 64)
      assert.deepEqual([...data.subarray(middle, middle + 3)], [0x88, 0x88, 0x88])
      assert.ok((data[1] ?? 0) > 100, 'the red part is cut off')
      assert.equal((await ask('width=64&fit=cover')).status, 400)
    })

    test('writes each format, with the quality that was asked for', async () => {
      const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const
      const create = { width: 256, height: 256, channels: 3, background: '#888', noise } as const
      const { ask } = await withFile(await sharp({ create }).jpeg().toBuffer())

      for (const [format, read] of [
        ['jpeg', 'jpeg'],
        ['png', 'png'],
        ['webp', 'webp'],
        ['avif', 'heif'],
      ]) {
        const reply = await ask(`width=128&format=${format}`)
        assert.equal(reply.headers.get('content-type'), `image/${format}`)
        assert.equal((await readPicture(reply.bytes)).format, read)
        assert.equal(reply.headers.get('vary'), null)
      }
      const bytesAt = async (quality: number) =>
        (await ask(`width=128&format=jpeg&quality=${quality}`)).bytes.length
      const lengths = [await bytesAt(50), await bytesAt(65), await bytesAt(80), await bytesAt(90)]
      assert.deepEqual(
        lengths,
        lengths.toSorted((one, other) => one - other),
      )
      assert.match(
        (await ask('width=128&format=jpeg')).headers.get('content-disposition') ?? '',
        /^inline; filename="a photo\.jpg"/,
      )
    })

    test('a preset stands for its parameters, also for sizes that are not offered', async () => {
      const { ask, sizeOf } = await withFile()

      assert.deepEqual(await sizeOf('preset=avatar'), [96, 96])
      const hero = await ask('preset=hero', { accept: MODERN })
      assert.equal(hero.headers.get('content-type'), 'image/webp')
      assert.deepEqual(await sizeOf('preset=hero'), [300, 150])
      for (const query of ['preset=none', 'preset=avatar&width=64', 'preset=avatar&preset=hero'])
        assert.equal((await ask(query)).status, 400, query)
    })

    test('a size that is not offered is 400 with the sizes that are', async () => {
      const { ask } = await withFile()

      for (const query of [
        'width=65',
        'width=064',
        'width=%2064',
        'width=',
        'width=64.0',
        'height=-1',
      ]) {
        const { status, body } = await ask(query)
        assert.deepEqual([status, body.code], [400, 'PICTURE_NOT_OFFERED'], query)
        assert.deepEqual(body.sizes.slice(0, 3), [64, 128, 256])
      }
    })

    test('bad and repeated values, and neither size nor preset, are 400', async () => {
      const { ask } = await withFile()
      const bad = [
        ...['', 'Width=64', 'format=webp', 'width=64&format=gif', 'width=64&format=WEBP'],
        ...['width=64&quality=81', 'width=64&quality=080', 'width=64&fit=contain'],
        ...['width=64&width=64', 'width=64&%77idth=64', 'width=64&v=1&v=1', 'width=64&format='],
      ]

      for (const query of bad) {
        const { status, body } = await ask(query)
        assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR'], query)
      }
    })

    test('spellings of one request share one rendition, and unknown parameters are ignored', async () => {
      const { ask, file, root } = await withFile()
      const queries = ['width=64&quality=80', '%77idth=%36%34', 'Width=65&width=64&x=1&x=2']

      const tags = []
      for (const query of queries) tags.push((await ask(query)).headers.get('etag'))

      assert.equal(new Set(tags).size, 1)
      assert.equal((await renditionsIn(root, file.storedFilename)).length, 1)
    })

    test('auto follows Accept: AVIF up to a megapixel, then WebP, PNG or JPEG', async () => {
      const opaque = await withFile(await photo(1200, 1000))
      const clear = { width: 100, height: 100, channels: 4, background: '#80808080' } as const
      const bytes = await sharp({ create: clear }).png().toBuffer()
      const transparent = await withFile(bytes, 'image/png', 'x.png')
      const typeFor = async ({ ask }: typeof opaque, accept: string, query = 'width=64') => {
        const { headers } = await ask(query, { accept })
        assert.match(headers.get('vary') ?? '', /accept/i)
        return headers.get('content-type')?.slice('image/'.length)
      }

      assert.equal(await typeFor(opaque, MODERN), 'avif')
      assert.equal(await typeFor(opaque, MODERN, 'width=1200'), 'webp')
      assert.equal(await typeFor(opaque, 'image/avif', 'width=1200'), 'jpeg')
      assert.equal(await typeFor(opaque, 'image/avif;q=0, image/WebP'), 'webp')
      assert.equal(await typeFor(opaque, 'image/webp;q=0.000,*/*'), 'jpeg')
      assert.equal(await typeFor(opaque, 'image/*,*/*'), 'jpeg')
      assert.equal(await typeFor(transparent, '*/*'), 'png')
      assert.equal(await typeFor(transparent, 'image/webp'), 'webp')
    })

    test('AVIF of more than 2 megapixels is 400, also when the picture is known', async () => {
      const { ask } = await withFile(await photo(1920, 1080))

      const replies = [await ask('width=1920&format=avif'), await ask('width=1920&format=avif')]

      for (const { status, body } of replies)
        assert.deepEqual([status, body.code], [400, 'PICTURE_NOT_OFFERED'])
    })

    test('is upright, in sRGB, and without EXIF, GPS, XMP, profile and comment', async () => {
      const bytes = await sharp(await photo(400, 200))
        .withIccProfile('p3')
        .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><secret/></x:xmpmeta>')
        .withExifMerge({
          IFD0: { Make: 'Camera', Orientation: '6' },
          IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100' },
        })
        .withMetadata({ orientation: 6 })
        .jpeg({ quality: 100 })
        .toBuffer()
      const before = await sharp(bytes).metadata()
      assert.ok(before.exif && before.icc && before.orientation === 6)
      const { ask } = await withFile(bytes)

      for (const format of ['jpeg', 'png', 'webp', 'avif']) {
        const reply = await ask(`height=128&format=${format}`)
        const { width, height, orientation, hidden, colour } = await readPicture(reply.bytes)
        assert.deepEqual([width, height, orientation, hidden], [64, 128, 1, 0], format)
        for (const [index, level] of [RED.r, RED.g, RED.b].entries())
          assert.ok(Math.abs((colour[index] ?? 0) - level) < 12, `${format}: ${colour}`)
      }
    })

    test('an animation stays one in WebP, skips AVIF, and is its first frame elsewhere', async () => {
      const frames = await Promise.all(
        ['#c00', '#0c0', '#00c'].map((background) =>
          sharp({ create: { width: 100, height: 50, channels: 3, background } })
            .png()
            .toBuffer(),
        ),
      )
      const bytes = await sharp(frames, { join: { animated: true } })
        .gif()
        .toBuffer()
      const { ask } = await withFile(bytes, 'image/gif', 'x.gif')
      const read = async (query: string, accept = '*/*') => {
        const { bytes } = await ask(query, { accept })
        const { format, pages, width, height } = await readPicture(bytes)
        return [format, pages, width, height]
      }

      assert.deepEqual(await read('width=64', MODERN), ['webp', 3, 64, 32])
      assert.deepEqual(await read('width=64&height=64&fit=cover', MODERN), ['webp', 3, 50, 50])
      assert.deepEqual((await read('width=64&format=avif')).slice(0, 2), ['heif', 1])
      assert.deepEqual((await read('width=64&format=jpeg')).slice(0, 2), ['jpeg', 1])
    })

    test('an animation of more than 100 frames is its first frame', async () => {
      const [width, height, frames] = [8, 8, 101]
      const pixels = Buffer.from(
        Array.from({ length: width * height * frames * 3 }, (_, at) => at % 251),
      )
      const raw = { width, height: height * frames, channels: 3, pageHeight: height } as const
      const bytes = await sharp(pixels, { raw }).gif().toBuffer()
      const { ask } = await withFile(bytes, 'image/gif', 'x.gif')

      const reply = await ask('width=64&format=webp')

      const { pages = 1, height: drawn } = await sharp(reply.bytes).metadata()
      assert.deepEqual([pages, drawn], [1, 8])
    })

    test('other types and broken pictures are 422, which is remembered', async (t) => {
      const broken = Buffer.from(sampleFiles.png)
      broken.fill(0x55, 41, broken.length - 12)
      const files = [
        await withFile(sampleFiles.pdf, 'application/pdf', 'x.pdf'),
        await withFile(broken, 'image/png', 'x.png'),
      ]

      for (const { ask } of files) {
        const { status, body } = await ask('width=64')
        assert.deepEqual([status, body.code], [422, 'NO_PICTURE'])
      }
      failAt(t, 'picture:read')
      for (const { ask } of files) assert.equal((await ask('width=128&format=png')).status, 422)
    })

    test('damaged bytes are 422 until they are repaired', async () => {
      const { ask, file, root } = await withFile()
      const names = await readdir(root, { recursive: true })
      const path = join(root, names.find((name) => name.endsWith(file.storedFilename)) ?? '')

      await truncate(path, 500)

      assert.equal((await ask('width=64')).status, 422)
    })

    test('refuses in this order: 401, 400, 404, 403', async () => {
      const { api, file } = await withFile()
      const mallory = await register(api, `mallory-${file.id}`)
      const statusOf = async (path: string, token?: string) =>
        (await api.get(`/file/picture/${path}`, { token })).status

      assert.equal(await statusOf(`${file.id}`), 401)
      assert.equal(await statusOf('x?width=64', mallory), 400)
      assert.equal(await statusOf('999999999?width=65', mallory), 400)
      assert.equal(await statusOf('999999999?width=64', mallory), 404)
      assert.equal(await statusOf(`${file.id}?width=64`, mallory), 403)
    })

    test('rights are checked before the cache and the entity tag', async () => {
      const { api, admin, ask, file } = await withFile()
      const mallory = await register(api, `mallet-${file.id}`)
      const etag = (await ask('width=64')).headers.get('etag') ?? ''
      const path = `/file/picture/${file.id}?width=64`
      const headers = { 'if-none-match': etag }

      const foreign = await api.request('GET', path, { token: mallory, headers })
      const asAdmin = await api.request('GET', path, { token: admin, headers })

      assert.deepEqual([foreign.status, asAdmin.status], [403, 304])
    })

    test('the entity tag follows content and parameters, and answers 304 without drawing', async (t) => {
      const { api, user, ask } = await withFile()
      const bytes = await photo(410, 200)
      const other = await upload(api, user, jpeg(bytes))
      const tagOf = async (query: string) => (await ask(query)).headers.get('etag') ?? ''
      const tag = await tagOf('width=64')
      const others = [await tagOf('width=128'), await tagOf('width=64&quality=50')]
      const { headers } = await api.get(`/file/picture/${other.body.id}?width=64`, { token: user })
      failAt(t, 'picture:read')

      assert.match(tag, /^"\w+"$/)
      assert.ok(![...others, headers.get('etag')].includes(tag))
      const again = await ask('width=64', { 'if-none-match': tag })
      assert.deepEqual([again.status, again.bytes.length], [304, 0])
      assert.equal(again.headers.get('etag'), tag)
      assert.equal((await ask('width=64', { 'if-none-match': '"x"' })).status, 200)
      assert.equal((await ask('width=64', { 'if-match': '"x"' })).status, 412)
    })

    test('HEAD and ranges work as for a download', async () => {
      const { ask } = await withFile()
      const whole = await ask('width=64')

      const head = await ask('width=64', {}, 'HEAD')
      const part = await ask('width=64', { range: 'bytes=2-5' })

      assert.equal(head.headers.get('content-length'), String(whole.bytes.length))
      assert.equal(part.status, 206)
      assert.ok(part.bytes.equals(whole.bytes.subarray(2, 6)))
    })

    test('only an address with the current v may be cached for good', async () => {
      const { ask, file } = await withFile()
      const cachingOf = async (query: string) => (await ask(query)).headers.get('cache-control')
      const v = file.checksumSha256.slice(0, 16)

      assert.equal(await cachingOf('width=64'), 'private, no-cache')
      assert.equal(await cachingOf(`width=64&v=${v}`), 'private, max-age=31536000, immutable')
      assert.equal(await cachingOf(`preset=avatar&v=${v}`), 'private, max-age=31536000, immutable')
      for (const other of [
        '',
        'x',
        v.slice(1),
        `${v}0`,
        v.toUpperCase() === v ? 'y' : v.toUpperCase(),
      ])
        assert.equal(await cachingOf(`width=64&v=${other}`), 'private, no-cache', other)
    })

    test('is made once: a kept one is read, and equal requests share one making', async (t) => {
      const { ask, file, root } = await withFile(await photo(1500, 1500))
      const asks = Array.from({ length: 10 }, () => ask('width=640'))

      const replies = await Promise.all(asks)
      failAt(t, 'picture:read')
      const later = await ask('width=640')

      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
      assert.ok(later.bytes.equals(replies[0]?.bytes ?? Buffer.alloc(0)))
      assert.equal((await renditionsIn(root, file.storedFilename)).length, 1)
    })

    test('a kept one that was cut short is made again', async () => {
      const { ask, file, root } = await withFile()
      const { bytes } = await ask('width=64')
      const [name = ''] = await renditionsIn(root, file.storedFilename)

      await truncate(join(root, name), 0)

      const again = await ask('width=64')
      assert.ok(again.bytes.equals(bytes))
      const names = await renditionsIn(root, file.storedFilename)
      assert.ok(names.length === 1 && names[0] !== name)
    })

    test('at most 32 are kept for a file; the one not used for the longest time goes', async () => {
      const { ask, file, root } = await withFile(await photo(64, 64))
      const sizes = [64, 128, 256, 384, 512, 640, 750, 828]
      const queries = sizes.flatMap((size) =>
        [50, 65, 80, 90].map((quality) => `width=${size}&format=jpeg&quality=${quality}`),
      )
      for (const query of queries) await ask(query)
      const kept = async () => new Set(await renditionsIn(root, file.storedFilename))
      const before = await kept()

      await ask(queries[0] ?? '')
      await ask('width=64&format=png')

      const after = await kept()
      assert.deepEqual([before.size, after.size], [32, 32])
      const gone = [...before].filter((name) => !after.has(name))
      assert.equal(gone.length, 1)
      await ask(queries[0] ?? '')
      assert.deepEqual(await kept(), after)
      await ask(queries[1] ?? '')
      assert.notDeepEqual(await kept(), after)
    })

    test('72 combinations on one picture leave at most 32 renditions', {
      tags: ['all'],
    }, async () => {
      const { ask, file, root } = await withFile(await photo(100, 80))
      const combinations = [64, 128, 256].flatMap((size) =>
        ['width', 'height'].flatMap((side) =>
          ['jpeg', 'webp', 'avif'].flatMap((format) =>
            [50, 65, 80, 90].map(
              (quality) => `${side}=${size}&format=${format}&quality=${quality}`,
            ),
          ),
        ),
      )

      const replies = await Promise.all(combinations.map((query) => ask(query)))

      assert.equal(replies.length, 72)
      assert.ok(replies.every(({ status }) => status === 200))
      assert.ok((await renditionsIn(root, file.storedFilename)).length <= 32)
    })

    test('are gone with the file, and count in no quota', async () => {
      const { api, user, ask, file, root } = await withFile()
      await ask('width=64')
      const { body: usage } = await api.get('/file/usage', { token: user })

      await api.delete(`/file/${file.id}`, { token: user })

      assert.deepEqual([usage.files, usage.bytes], [1, file.size])
      assert.deepEqual(await renditionsIn(root, file.storedFilename), [])
    })
  })

for (const engine of engines)
  describe(`settings of pictures, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string>) => {
      const url = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL: url, ...env })
      const { body: file } = await upload(service.api, service.user, jpeg(await photo(300, 300)))
      const ask = (query: string) =>
        service.api.get(`/file/picture/${file.id}?${query}`, { token: service.user })
      return { ...service, file, ask }
    }

    test('without sizes there are presets only', async (t) => {
      const { ask } = await start(t, {
        STORAGE_FULL_PICTURE_SIZES: 'none',
        STORAGE_FULL_PICTURE_PRESETS: 'small:width=50',
      })

      const { status, body } = await ask('width=64')

      assert.deepEqual([status, body.code, body.sizes], [400, 'PICTURE_NOT_OFFERED', []])
      assert.equal((await ask('preset=small')).status, 200)
    })

    test('all renditions fit the cache: those not used for the longest time go', async (t) => {
      const { ask, file, root, server, clock } = await start(t, {
        STORAGE_FULL_PICTURE_CACHE_BYTES: '1300',
        STORAGE_FULL_PICTURE_SIZES: '200,210,220',
      })
      const lengths = []
      for (const size of [200, 210, 200, 220]) {
        lengths.push((await ask(`width=${size}&format=jpeg`)).bytes.length)
        clock.advance(1)
      }
      const names = await renditionsIn(root, file.storedFilename)
      const result = async (name: string, label?: string) => {
        const family = (await server.metrics.read()).find((one) => one.name === name)
        const found = family?.samples.find(({ labels }) => !label || labels.result === label)
        return found && 'value' in found ? found.value : undefined
      }

      assert.ok(
        lengths.every((length) => length > 434 && length <= 650),
        String(lengths),
      )
      assert.equal(names.length, 2)
      assert.equal(await result('plinth_pictures_evicted_total'), 1)
      assert.equal(await result('plinth_pictures_total', 'made'), 3)
      await ask('width=200&format=jpeg')
      assert.equal(await result('plinth_pictures_total', 'kept'), 2)
      await ask('width=210&format=jpeg')
      assert.equal(await result('plinth_pictures_total', 'made'), 4)
    })
  })
