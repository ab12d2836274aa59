import { crc32, deflateSync } from 'node:zlib'
import { sampleFiles } from '@plinth/kit/testing'

/** A small file that demands a lot of its decoder. */
export type Bomb = { name: string; type: string; bytes: Buffer }

const MANY_FRAMES = 4_000
const TOO_MANY = 12_000
const MANY_PAGES = 1_000_000
const FORMS = 5

const bytesBE = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const bytesLE = (value: number, length: number) => {
  const bytes = Buffer.alloc(length)
  bytes.writeUIntLE(value, 0, length)
  return bytes
}

const zeros = (megabytes: number) => deflateSync(Buffer.alloc(megabytes * 2 ** 20))

type Chunk = [type: string, content: Buffer]

const RGB_OF_8_BITS = [8, 2]
const RGBA_OF_16_BITS = [16, 6]

function png(width: number, height: number, ...chunks: Chunk[]): Bomb {
  return pngOf(RGB_OF_8_BITS, width, height, ...chunks)
}

/** `pixel`: the bits of a channel, and the type of colour. */
function pngOf(pixel: number[], width: number, height: number, ...chunks: Chunk[]): Bomb {
  const chunk = ([type, content]: Chunk) => {
    const checked = Buffer.concat([Buffer.from(type), content])
    return Buffer.concat([bytesBE(content.length), checked, bytesBE(crc32(checked))])
  }
  const header = Buffer.concat([bytesBE(width), bytesBE(height), Buffer.from([...pixel, 0, 0, 0])])
  const parts = [['IHDR', header], ...chunks, ['IEND', Buffer.alloc(0)]] as Chunk[]
  const bytes = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...parts.map(chunk)])
  return { name: 'x.png', type: 'image/png', bytes }
}

/** A PNG with many copies of a comment. */
function commented(copies: number, packed: Buffer): Bomb {
  const comment = Buffer.concat([Buffer.from('x\0\0'), packed])
  const comments = Array.from({ length: copies }, (): Chunk => ['zTXt', comment])
  return png(10, 10, ...comments, ['IDAT', deflateSync(Buffer.alloc(310))])
}

function jpeg(width: number, height: number): Bomb {
  const size = Buffer.concat([bytesBE(height).subarray(2), bytesBE(width).subarray(2)])
  const [before, after] = ['ffd8ffc0001108', '03012200021101031101ffd9']
  const bytes = Buffer.concat([Buffer.from(before, 'hex'), size, Buffer.from(after, 'hex')])
  return { name: 'x.jpg', type: 'image/jpeg', bytes }
}

/** `at`: where the segments begin. */
function segmented(count: number, at: number): Bomb {
  const segments = Buffer.alloc(count * 4, Buffer.from('ffe10002', 'hex'))
  const [before, after] = [sampleFiles.jpg.subarray(0, at), sampleFiles.jpg.subarray(at)]
  return { name: 'x.jpg', type: 'image/jpeg', bytes: Buffer.concat([before, segments, after]) }
}

type Frame = { count: number; width: number; height: number; disposal?: number }

function gif(width: number, height: number, frame: Frame): Bomb {
  const sizeOf = (area: { width: number; height: number }) => [
    bytesLE(area.width, 2),
    bytesLE(area.height, 2),
  ]
  const drawn = Buffer.concat([
    Buffer.from([0x21, 0xf9, 4, (frame.disposal ?? 0) << 2, 0, 0, 0, 0, 0x2c, 0, 0, 0, 0]),
    ...sizeOf(frame),
    Buffer.from('000202440100', 'hex'),
  ])
  const bytes = Buffer.concat([
    Buffer.from('GIF89a'),
    ...sizeOf({ width, height }),
    Buffer.from('800000000000ffffff', 'hex'),
    ...Array.from({ length: frame.count }, () => drawn),
    Buffer.from(';'),
  ])
  return { name: 'x.gif', type: 'image/gif', bytes }
}

/** `nested`: the first frame claims the length of all of them. */
function webp(side: number, frames: number, { nested = false } = {}): Bomb {
  const chunk = (type: string, content: Buffer) =>
    Buffer.concat([Buffer.from(type), bytesLE(content.length, 4), content])
  const place = Buffer.from('00000000000001000001000001000000', 'hex')
  const image = Buffer.concat([place, sampleFiles.webp.subarray(12)])
  const canvas = Buffer.concat([Buffer.from([2, 0, 0, 0]), bytesLE(side - 1, 3)])
  const header = chunk('VP8X', Buffer.concat([canvas, bytesLE(side - 1, 3)]))
  const others = Buffer.concat(Array.from({ length: frames - 1 }, () => chunk('ANMF', image)))
  const all = nested
    ? chunk('ANMF', Buffer.concat([image, others]))
    : Buffer.concat([chunk('ANMF', image), others])
  const content = Buffer.concat([header, chunk('ANIM', Buffer.alloc(6)), all])
  const bytes = chunk('RIFF', Buffer.concat([Buffer.from('WEBP'), content]))
  return { name: 'x.webp', type: 'image/webp', bytes }
}

type Pdf = { kids?: string; count?: number; page?: string; objects?: (Buffer | string)[] }

function pdf({ kids = '3 0 R', count = 1, page = '', objects = [] }: Pdf): Bomb {
  const parts = [
    '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n',
    `2 0 obj<</Type/Pages/Kids[${kids}]/Count ${count}>>endobj\n`,
    `3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]${page}>>endobj\n`,
    ...objects,
    'trailer<</Root 1 0 R>>\n%%EOF\n',
  ]
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  return { name: 'x.pdf', type: 'application/pdf', bytes }
}

function pdfStream(id: number, entries: string, content: Buffer): Buffer {
  const head = `${id} 0 obj<<${entries}/Length ${content.length}>>stream\n`
  return Buffer.concat([Buffer.from(head), content, Buffer.from('\nendstream endobj\n')])
}

/** None of these can be shown within the limits. */
export const impossible: Record<string, Bomb> = {
  'a PNG of 2³¹ pixels a side': png(2 ** 31 - 1, 2 ** 31 - 1, ['IDAT', zeros(1)]),
  'a PNG of 30,000 pixels a side': png(30_000, 30_000, ['IDAT', zeros(1)]),
  'a PNG of 384 KB with 16 bits in each of four channels, 65,000 pixels wide': pngOf(
    RGBA_OF_16_BITS,
    65_000,
    760,
    ['IDAT', deflateSync(Buffer.alloc((8 * 65_000 + 1) * 760))],
  ),
  'a JPEG of 65,500 pixels a side': jpeg(65_500, 65_500),
  'a GIF of 43 bytes that wants two copies of 50 megapixels': gif(65_535, 762, {
    count: 1,
    width: 65_535,
    height: 762,
    disposal: 3,
  }),
  'a WebP of 4,000 frames, 7,000 pixels a side': webp(7000, MANY_FRAMES),
  'a PNG whose comments unpack to gigabytes': commented(50, zeros(50)),
  'a PNG of 45 KB whose comment unpacks to 45 MB': commented(1, zeros(45)),
  'a PNG of 12,000 comments': commented(TOO_MANY, zeros(0)),
  'a JPEG of 12,000 segments': segmented(TOO_MANY, 2),
  'a JPEG of 12,000 segments after its pixels': segmented(TOO_MANY, sampleFiles.jpg.length - 2),
  'a GIF of 12,000 frames': gif(10, 10, { count: TOO_MANY, width: 1, height: 1 }),
  'a WebP of 12,000 frames': webp(10, TOO_MANY),
  'a WebP of 12,000 frames inside its first one': webp(10, TOO_MANY, { nested: true }),
  'a PDF without pages': pdf({ kids: '' }),
  'a PDF with a circular page tree': pdf({ kids: '2 0 R', count: MANY_PAGES }),
  'a PDF whose page unpacks to gigabytes': pdf({
    page: '/Contents 4 0 R',
    objects: [pdfStream(4, '/Filter[/FlateDecode/FlateDecode]', deflateSync(zeros(400)))],
  }),
}

/** These need a lot, but can still be shown. */
export const possible: Record<string, Bomb> = {
  'a PNG with more data than pixels': png(10, 10, ['IDAT', zeros(200)]),
  'a PNG whose colour profile unpacks to megabytes': png(
    10,
    10,
    ['iCCP', Buffer.concat([Buffer.from('x\0\0'), zeros(200)])],
    ['IDAT', deflateSync(Buffer.alloc(310))],
  ),
  'a GIF of 4,000 frames': gif(6000, 6000, { count: MANY_FRAMES, width: 1, height: 1 }),
  'a WebP of 4,000 frames': webp(1000, MANY_FRAMES),
  'a PDF with a script': pdf({ page: '/AA<</O<</S/JavaScript/JS(while(1);)>>>>' }),
  'a PDF that claims a million pages': pdf({ count: MANY_PAGES }),
  'a PDF of a million pages': pdf({ kids: '3 0 R '.repeat(MANY_PAGES), count: MANY_PAGES }),
}

/** Five forms, each of which draws the next one `times` times; the last one blends colours, which is slow. */
export function slowPdf(times: number): Bomb {
  const forms = Array.from({ length: FORMS }, (_, level) => {
    const id = level + 5
    const innermost = level === FORMS - 1
    const resources = innermost
      ? '/ExtGState<</G<</ca .5/BM/Luminosity>>>>'
      : `/XObject<</F ${id + 1} 0 R>>`
    const content = innermost ? '/G gs 0 0 72 72 re f' : '/F Do '.repeat(times)
    const entries = `/Type/XObject/Subtype/Form/BBox[0 0 72 72]/Resources<<${resources}>>`
    return pdfStream(id, entries, Buffer.from(content))
  })
  const page = '/Contents 4 0 R/Resources<</XObject<</F 5 0 R>>>>'
  return pdf({ page, objects: [pdfStream(4, '', Buffer.from('/F Do')), ...forms] })
}
