import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
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

test('the limit counts channels and their depth, not only pixels', async (t) => {
  const wide = (channels: 3 | 4) =>
    sharp({ create: { width: 40_000, height: 600, channels, background: '#a33' } })
  const drawn = async (bytes: Buffer) =>
    Buffer.isBuffer(await jpegFromImage(await fileWith(t, bytes), 5))

  assert.equal(await drawn(await wide(3).png().toBuffer()), true)
  assert.equal(await drawn(await wide(4).png().toBuffer()), true)
  assert.equal(await drawn(await wide(3).toColourspace('rgb16').png().toBuffer()), false)
  assert.equal(await drawn(await wide(4).toColourspace('rgb16').png().toBuffer()), false)
})

test('a picture that cannot be opened is undecided', async () => {
  assert.equal(await jpegFromImage('no-such-file.png', 5), 'undecided')
})
