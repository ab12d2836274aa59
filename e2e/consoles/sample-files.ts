import { crc32, deflateSync } from 'node:zlib'

type SampleFile = { name: string; mimeType: string; buffer: Buffer }

const WIDTH = 640
const HEIGHT = 480
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** A real picture, different for each tint, so that thumbnails have something to show. */
export function samplePng(name: string, tint = 0): SampleFile {
  // Each row begins with the number of its filter; 0 means none.
  const rows = Buffer.alloc((WIDTH * 3 + 1) * HEIGHT)
  for (let y = 0; y < HEIGHT; y += 1)
    for (let x = 0; x < WIDTH; x += 1)
      rows.set(colourAt(x, y, tint), y * (WIDTH * 3 + 1) + 1 + x * 3)
  const header = Buffer.alloc(13)
  header.writeUInt32BE(WIDTH, 0)
  header.writeUInt32BE(HEIGHT, 4)
  header.set([8, 2], 8) // eight bits per channel: red, green and blue
  const chunks = [chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND')]
  return { name, mimeType: 'image/png', buffer: Buffer.concat([SIGNATURE, ...chunks]) }
}

function chunk(type: string, content = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type), content])
  const frame = Buffer.alloc(body.length + 8)
  frame.writeUInt32BE(content.length, 0)
  frame.set(body, 4)
  frame.writeUInt32BE(crc32(body), body.length + 4)
  return frame
}

/** A sky, a sun and two rows of hills. */
function colourAt(x: number, y: number, tint: number): number[] {
  const hill = (height: number, width: number) => height + 45 * Math.sin(x / width + tint)
  if (y > hill(390, 70)) return turned([38, 62, 58], tint)
  if (y > hill(310, 120)) return turned([72, 112, 104], tint)
  if (Math.hypot(x - 420 + tint * 40, y - 150) < 55) return [252, 240, 214]
  return turned([150 + y / 5, 190 + y / 9, 222 - y / 8], tint)
}

function turned([red = 0, green = 0, blue = 0]: number[], tint: number): number[] {
  const turns = [
    [red, green, blue],
    [blue, red, green],
    [green, blue, red],
  ]
  return turns[Math.floor(tint) % turns.length] ?? []
}

export function textFile(name: string, text: string, mimeType = 'text/plain'): SampleFile {
  return { name, mimeType, buffer: Buffer.from(text) }
}

const MP3_FRAME_BYTES = 417

/** One second of silence: forty empty MP3 frames of 128 kbit/s. */
export function silentMp3(name: string): SampleFile {
  const frame = Buffer.alloc(MP3_FRAME_BYTES)
  frame.set([0xff, 0xfb, 0x90, 0x64])
  return { name, mimeType: 'audio/mpeg', buffer: Buffer.concat(Array(40).fill(frame)) }
}
