import assert from 'node:assert/strict'
import { watch } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { armFailPoint } from '@plinth/kit/runtime'
import { type ApiReply, sampleFiles } from '@plinth/kit/testing'
import sharp from 'sharp'
import { until } from '../../../test/until.ts'
import { shareOfCores } from '../src/thumbnails/lanes.ts'
import { slowPdf } from './bombs.ts'
import { engines, sharedStorage, upload } from './start-storage.ts'

const pdf = { name: 'x.pdf', type: 'application/pdf', bytes: sampleFiles.pdf }

type Colour = { r: number; g: number; b: number }

const RED = { r: 200, g: 30, b: 30 }
const BLUE = { r: 30, g: 30, b: 200 }

const picture = (width: number, height: number, background: Colour = RED) =>
  sharp({ create: { width, height, channels: 3, background } })

async function redSideOf(jpeg: Buffer): Promise<string> {
  const { data, info } = await sharp(jpeg).raw().toBuffer({ resolveWithObject: true })
  const isRed = (x: number, y: number) => {
    const at = (y * info.width + x) * info.channels
    return (data[at] ?? 0) > (data[at + 2] ?? 0)
  }
  const right = info.width - 1
  if (isRed(0, 0)) return isRed(right, 0) ? 'top' : 'left'
  return isRed(right, 0) ? 'right' : 'bottom'
}

/** From now on making a thumbnail fails at this step. */
function failAt(t: TestContext, step: string, effect = 'error'): void {
  armFailPoint({ NODE_ENV: 'test', FAIL_POINT: `${step}=${effect}` })
  t.after(() => armFailPoint({}))
}

/** Counts how often a file of this name appears in a folder, until the returned function is called. */
function countNamings(folder: string, name: string) {
  let count = 0
  const sentinel = Promise.withResolvers<void>()
  const watcher = watch(folder, { persistent: false }, (event, changed) => {
    if (event === 'rename' && changed === name) count += 1
    if (changed === 'sentinel') sentinel.resolve()
  })
  return async () => {
    await writeFile(join(folder, 'sentinel'), '')
    await sentinel.promise
    watcher.close()
    await rm(join(folder, 'sentinel'))
    return count
  }
}

for (const engine of engines)
  describe(`GET /file/thumbnail/{id}, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)

    test('returns a JPEG of at most 256 pixels for a picture, made once and kept', async (t) => {
      const { api, user, root } = await newcomer()
      const bytes = await picture(1000, 500).png().toBuffer()
      const { body } = await upload(api, user, { bytes })

      const first = await api.get(`/file/thumbnail/${body.id}`, { token: user })
      failAt(t, 'thumbnail:read')
      const second = await api.get(`/file/thumbnail/${body.id}`, { token: user })

      assert.equal(first.status, 200)
      assert.equal(first.headers.get('content-type'), 'image/jpeg')
      const { format, width, height, exif } = await sharp(first.bytes).metadata()
      assert.deepEqual([format, width, height, exif], ['jpeg', 256, 128, undefined])
      assert.ok(second.bytes.equals(first.bytes))
      const names = await readdir(root, { recursive: true })
      const kept = names.filter((name) => name.endsWith(`${body.storedFilename}.thumbnail.jpg`))
      assert.equal(kept.length, 1)
    })

    test('applies the orientation and strips the metadata of the camera', async () => {
      const { api, user } = await newcomer()
      const bytes = await picture(400, 200)
        .jpeg()
        .withExif({ IFD0: { Orientation: '6', Make: 'Camera' } })
        .withMetadata({ orientation: 6 })
        .toBuffer()
      const { body } = await upload(api, user, { name: 'x.jpg', type: 'image/jpeg', bytes })

      const reply = await api.get(`/file/thumbnail/${body.id}`, { token: user })

      const { width, height, exif, orientation } = await sharp(reply.bytes).metadata()
      assert.deepEqual([width, height], [128, 256])
      assert.deepEqual([exif, orientation], [undefined, undefined])
    })

    test('shows each of the eight orientations upright', async () => {
      const { api, user } = await newcomer()
      const left = { input: await picture(32, 32, RED).png().toBuffer(), left: 0, top: 0 }
      const halves = await picture(64, 32, BLUE).composite([left]).png().toBuffer()
      // Where the left half of the stored picture belongs.
      const sides = ['left', 'right', 'right', 'left', 'top', 'top', 'bottom', 'bottom']
      for (const [index, side] of sides.entries()) {
        const bytes = await sharp(halves)
          .withMetadata({ orientation: index + 1 })
          .jpeg()
          .toBuffer()
        const { body } = await upload(api, user, { name: 'x.jpg', type: 'image/jpeg', bytes })

        const reply = await api.get(`/file/thumbnail/${body.id}`, { token: user })

        assert.equal(await redSideOf(reply.bytes), side, `orientation ${index + 1}`)
      }
    })

    test('makes one for JPEG, WebP and GIF as well', async () => {
      const { api, user } = await newcomer()
      const types = { jpg: 'image/jpeg', webp: 'image/webp', gif: 'image/gif' } as const
      for (const [extension, type] of Object.entries(types)) {
        const bytes = sampleFiles[extension as keyof typeof types]
        const { body } = await upload(api, user, { name: `x.${extension}`, type, bytes })

        const reply = await api.get(`/file/thumbnail/${body.id}`, { token: user })

        assert.equal(reply.headers.get('content-type'), 'image/jpeg', extension)
      }
    })

    test('shows the first page of a PDF in its colours and the right way up', async () => {
      const { api, user } = await newcomer()
      const bytes = Buffer.from(
        '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n' +
          '2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n' +
          '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200000 100000]/Contents 4 0 R>>endobj\n' +
          '4 0 obj<</Length 66>>stream\n1 0 0 rg 0 0 200000 100000 re f\n' +
          '0 0 1 rg 0 70000 200000 30000 re f\nendstream endobj\n' +
          'trailer<</Root 1 0 R>>\n%%EOF\n',
      )
      const { body } = await upload(api, user, { name: 'x.pdf', type: 'application/pdf', bytes })

      const reply = await api.get(`/file/thumbnail/${body.id}`, { token: user })

      assert.equal(reply.headers.get('content-type'), 'image/jpeg')
      const { data, info } = await sharp(reply.bytes).raw().toBuffer({ resolveWithObject: true })
      assert.deepEqual([info.width, info.height], [256, 128])
      const pixels = { top: [...data.subarray(0, 3)], bottom: [...data.subarray(-3)] }
      const isOn = (level = 0) => (level > 240 ? 1 : level < 20 ? 0 : level)
      assert.deepEqual(pixels.top.map(isOn), [0, 0, 1])
      assert.deepEqual(pixels.bottom.map(isOn), [1, 0, 0])
    })

    test('returns an SVG that names the type for everything else', async () => {
      const { api, user } = await newcomer()
      const zip = { name: 'x.zip', type: 'application/zip', bytes: sampleFiles.zip }
      const { body } = await upload(api, user, zip)

      const reply = await api.get(`/file/thumbnail/${body.id}`, { token: user })

      assert.equal(reply.status, 200)
      assert.equal(reply.headers.get('content-type'), 'image/svg+xml')
      assert.match(reply.bytes.toString(), />ZIP</)
      assert.match(reply.headers.get('content-security-policy') ?? '', /sandbox/)
    })

    test('returns the SVG for a picture that cannot be decoded, and does not try again', async (t) => {
      const { api, user } = await newcomer()
      const bytes = Buffer.from(sampleFiles.png)
      bytes.fill(0x55, 41, bytes.length - 12)
      const { body } = await upload(api, user, { bytes })

      const first = await api.get(`/file/thumbnail/${body.id}`, { token: user })
      failAt(t, 'thumbnail:read')
      const second = await api.get(`/file/thumbnail/${body.id}`, { token: user })

      assert.equal(first.headers.get('content-type'), 'image/svg+xml')
      assert.equal(second.status, 200)
      assert.deepEqual(second.bytes, first.bytes)
    })

    test('returns the SVG while the stored bytes are damaged, and the JPEG once they are repaired', async () => {
      const { api, user, root } = await newcomer()
      const bytes = await picture(600, 300).png().toBuffer()
      const { body } = await upload(api, user, { bytes })
      const names = await readdir(root, { recursive: true })
      const stored = join(root, names.find((name) => name.endsWith(body.storedFilename)) ?? '')
      const typeNow = async () => {
        const { headers } = await api.get(`/file/thumbnail/${body.id}`, { token: user })
        return headers.get('content-type')
      }

      await writeFile(stored, bytes.subarray(0, 60))
      const whileDamaged = await typeNow()
      await writeFile(stored, bytes)

      assert.deepEqual([whileDamaged, await typeNow()], ['image/svg+xml', 'image/jpeg'])
    })

    test('counts a thumbnail that cannot be made', async (t) => {
      const { api, user, server } = await newcomer()
      const { body } = await upload(api, user)
      const failed = async () => {
        const families = await server.metrics.read()
        const counted = families.find(({ name }) => name === 'plinth_thumbnails_total')
        const found = counted?.samples.find(({ labels }) => labels.result === 'failed')
        return found && 'value' in found ? found.value : undefined
      }
      const before = await failed()
      failAt(t, 'thumbnail:read')

      const reply = await api.get(`/file/thumbnail/${body.id}`, { token: user })

      assert.deepEqual([reply.status, await failed()], [500, Number(before) + 1])
    })

    test('returns the JPEG even if the disk has no room to keep it', async (t) => {
      const { api, user } = await newcomer()
      const { body } = await upload(api, user)
      const ask = () => api.get(`/file/thumbnail/${body.id}`, { token: user })
      failAt(t, 'publish:named', 'ENOSPC')

      const unkept = await ask()
      armFailPoint({})
      const kept = await ask()

      assert.deepEqual([unkept.status, kept.status], [200, 200])
      assert.equal(unkept.headers.get('content-type'), 'image/jpeg')
      assert.ok(kept.bytes.equals(unkept.bytes))
    })

    test('returns the SVG while the disk has no room to make one, and the JPEG later', async (t) => {
      const { api, user } = await newcomer()
      const { body } = await upload(api, user)
      const ask = () => api.get(`/file/thumbnail/${body.id}`, { token: user })
      failAt(t, 'upload:write', 'ENOSPC')

      const meanwhile = await ask()
      armFailPoint({})

      assert.equal(meanwhile.headers.get('content-type'), 'image/svg+xml')
      assert.equal((await ask()).headers.get('content-type'), 'image/jpeg')
    })

    test('makes it once, however many requests arrive at the same time', async () => {
      const { api, user, root } = await newcomer()
      const { body } = await upload(api, user, {
        bytes: await picture(2000, 2000).png().toBuffer(),
      })
      const ask = () => api.get(`/file/thumbnail/${body.id}`, { token: user })
      const names = await readdir(root, { recursive: true })
      const stored = join(root, names.find((name) => name.endsWith(body.storedFilename)) ?? '')
      const timesMade = countNamings(dirname(stored), `${body.storedFilename}.thumbnail.jpg`)

      const replies = await Promise.all(Array.from({ length: 20 }, ask))

      assert.equal(await timesMade(), 1)
      assert.equal(new Set(replies.map(({ bytes }) => bytes.toString('hex'))).size, 1)
      const spool = await readdir(`${root}/.incoming`, { recursive: true, withFileTypes: true })
      assert.deepEqual(
        spool.filter((entry) => entry.isFile()),
        [],
      )
    })
  })

// Whose turn it is to draw is the same on every database.
for (const engine of engines.slice(0, 1))
  describe('slow thumbnails', engine.options, () => {
    const { newcomer } = sharedStorage(engine)

    test('a small PDF that takes too long is drawn once, not for every request', {
      tags: ['all'],
    }, async (t) => {
      const { api, user } = await newcomer()
      const { body } = await upload(api, user, slowPdf(10))
      const ask = () => api.get(`/file/thumbnail/${body.id}`, { token: user })

      const first = await ask()
      failAt(t, 'thumbnail:read')
      const second = await ask()

      assert.deepEqual([first.status, second.status], [200, 200])
      assert.equal(first.headers.get('content-type'), 'image/svg+xml')
      assert.deepEqual(second.bytes, first.bytes)
    })

    test('slow PDFs of one user do not make another user wait for all of them', {
      tags: ['all'],
    }, async () => {
      const { api, user: patient, config } = await newcomer()
      const { user: attacker } = await newcomer()
      const { pagesAtOnce } = shareOfCores(availableParallelism())
      const page = await upload(api, patient, pdf)
      const slow = await Promise.all(
        Array.from({ length: 2 * pagesAtOnce + 3 }, () => upload(api, attacker, slowPdf(3))),
      )
      const show = (token: string, id: number) => api.get(`/file/thumbnail/${id}`, { token })
      let finished = 0
      const waits = slow.map(async ({ body }) => {
        await show(attacker, body.id)
        finished += 1
      })
      await until(
        () => readdir(config.spoolFolder),
        (names) => names.length >= 4,
      )

      const reply = await show(patient, page.body.id)
      const before = finished
      await Promise.all(waits)

      assert.equal(reply.headers.get('content-type'), 'image/jpeg')
      // The ones being drawn when it was requested, and the ones being drawn when it had been fetched.
      assert.ok(before <= 2 * pagesAtOnce, `${before} were drawn first`)
    })

    test('six accounts with one slow PDF each do not keep the picture of another user waiting, and delay the PDF by a second each, not by five', {
      tags: ['all'],
    }, async () => {
      const { api, user: patient, config } = await newcomer()
      const { pagesAtOnce } = shareOfCores(availableParallelism())
      const attackers = 5 + pagesAtOnce
      const [picture, page] = [await upload(api, patient), await upload(api, patient, pdf)]
      let finished = 0
      const waits = Array.from({ length: attackers }, async () => {
        const { user: attacker } = await newcomer()
        const { body } = await upload(api, attacker, slowPdf(10))
        await api.get(`/file/thumbnail/${body.id}`, { token: attacker })
        finished += 1
      })
      await until(
        () => readdir(config.spoolFolder),
        (names) => names.length >= attackers,
      )
      const show = async ({ body }: ApiReply) => {
        const reply = await api.get(`/file/thumbnail/${body.id}`, { token: patient })
        return { type: reply.headers.get('content-type'), before: finished }
      }

      const [ofPicture, ofPdf] = await Promise.all([show(picture), show(page)])
      await Promise.all(waits)

      assert.deepEqual([ofPicture.type, ofPdf.type], ['image/jpeg', 'image/jpeg'])
      assert.ok(ofPicture.before <= pagesAtOnce, `${ofPicture.before} PDFs were drawn first`)
      // Meanwhile the first of them may have had its five seconds, apart from the others.
      assert.ok(ofPdf.before <= 2, `${ofPdf.before} PDFs were drawn first`)
    })
  })
