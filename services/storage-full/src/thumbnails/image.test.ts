import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { jpegFromImage } from './image.ts'

async function fileWith(t: TestContext, bytes: Buffer | string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'thumbnail-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'x.png'), bytes)
  return join(folder, 'x.png')
}

const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#a33' } })

test('a file never reaches a loader that no accepted type needs, whatever its name', async (t) => {
  const tiff = await picture(4, 4).tiff().toBuffer()
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9"/></svg>'
  // The first picture sets the library up, which blocks the other loaders for good.
  await jpegFromImage(await fileWith(t, await picture(4, 4).png().toBuffer()), 5)

  for (const bytes of [tiff, svg])
    assert.equal(await jpegFromImage(await fileWith(t, bytes), 5), undefined)
})

test('a picture that is decoded whole has a lower limit than one decoded line by line', {
  tags: ['all'],
}, async (t) => {
  const large = picture(6000, 5000)
  const drawn = async (bytes: Buffer) =>
    Buffer.isBuffer(await jpegFromImage(await fileWith(t, bytes), 5))

  assert.equal(await drawn(await large.jpeg().toBuffer()), true)
  assert.equal(
    await drawn(await large.jpeg({ progressive: true, chromaSubsampling: '4:4:4' }).toBuffer()),
    false,
  )
  assert.equal(await drawn(await picture(5000, 4000).jpeg({ progressive: true }).toBuffer()), true)
})

test('the limit counts channels and their depth, not only pixels', { tags: ['all'] }, async (t) => {
  const wide = (channels: 3 | 4) =>
    sharp({ create: { width: 40_000, height: 600, channels, background: '#a33' } })
  const drawn = async (bytes: Buffer) =>
    Buffer.isBuffer(await jpegFromImage(await fileWith(t, bytes), 5))

  assert.equal(await drawn(await wide(3).png().toBuffer()), true)
  assert.equal(await drawn(await wide(4).png().toBuffer()), true)
  assert.equal(await drawn(await wide(3).toColourspace('rgb16').png().toBuffer()), false)
  assert.equal(await drawn(await wide(4).toColourspace('rgb16').png().toBuffer()), false)
})

const HEADER_END = 33

/** A PNG with a comment. */
async function commented(type: 'zTXt' | 'iTXt', packed: Buffer): Promise<Buffer> {
  const png = await picture(4, 4).png().toBuffer()
  const before = type === 'zTXt' ? 'key\0\0' : 'key\0\x01\0en\0Schlüssel\0'
  const checked = Buffer.concat([Buffer.from(type + before), packed])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(checked.length - 4)
  sum.writeUInt32BE(crc32(checked))
  return Buffer.concat([
    png.subarray(0, HEADER_END),
    length,
    checked,
    sum,
    png.subarray(HEADER_END),
  ])
}

test('a small picture is not drawn if its comment unpacks to much more', async (t) => {
  const packed = (megabytes: number) => deflateSync(Buffer.alloc(megabytes * 2 ** 20, 'a'))
  const broken = packed(45).subarray(0, -4)
  const drawn = async (bytes: Buffer) =>
    Buffer.isBuffer(await jpegFromImage(await fileWith(t, bytes), 5))

  for (const type of ['zTXt', 'iTXt'] as const) {
    assert.equal(await drawn(await commented(type, packed(4))), true)
    assert.equal(await drawn(await commented(type, packed(9))), false)
    assert.equal(await drawn(await commented(type, packed(45))), false)
    assert.equal(await drawn(await commented(type, broken)), false)
  }
})

test('a picture that cannot be opened is undecided', async () => {
  assert.equal(await jpegFromImage('no-such-file.png', 5), 'undecided')
})
