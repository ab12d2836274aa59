import sharp from 'sharp'

type SampleFile = { name: string; mimeType: string; buffer: Buffer }

const WIDTH = 640
const HEIGHT = 480

/** A real picture, different for each tint, so that thumbnails have something to show. */
export async function samplePng(name: string, tint = 0): Promise<SampleFile> {
  const pixels = Buffer.alloc(WIDTH * HEIGHT * 3)
  for (let y = 0; y < HEIGHT; y += 1)
    for (let x = 0; x < WIDTH; x += 1) pixels.set(colourAt(x, y, tint), (y * WIDTH + x) * 3)
  const image = sharp(pixels, { raw: { width: WIDTH, height: HEIGHT, channels: 3 } })
  return { name, mimeType: 'image/png', buffer: await image.png().toBuffer() }
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
