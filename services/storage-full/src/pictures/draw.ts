import type { OutputInfo, Sharp } from 'sharp'
import { openPixels, type Picture, withinLimits } from '../thumbnails/image.ts'
import type { Facts, Format, Outcome } from './outcome.ts'

/** For decoding and scaling. A picture that takes longer would take as long the next time. */
const DECODE_SECONDS = 10
/** Says nothing about the picture, only about how busy the machine is. */
const ENCODE_SECONDS = 20
const ANIMATION_SECONDS = 20
/** Of 9; the default of 4 takes ten times as long. */
const AVIF_EFFORT = 2
const ANIMATION_EFFORT = 1

/** Quality numbers of different encoders mean different things; these look about alike. */
const AVIF_QUALITY = { 50: 35, 65: 45, 80: 55, 90: 65 } as const

/** `undecided`: the failure says nothing about the picture. */
export type Drawing =
  | { facts: Facts; drawn: { format: Format; bytes: Buffer } | undefined }
  | 'undecided'
  | undefined

type Pixels = { data: Buffer; info: OutputInfo }

/**
 * Draws what `decide` chooses once the header is known; nothing if it chooses nothing. Returns undefined
 * when the picture is broken or beyond the limits. Pixels and encoding are two steps, because only a
 * failure of the first is about the picture.
 */
export async function drawPicture(
  path: string,
  decide: (facts: Facts) => Outcome | undefined,
): Promise<Drawing> {
  const decoded = await withinLimits(path, async (picture) => {
    const facts = factsOf(picture)
    const outcome = decide(facts)
    return { facts, outcome, content: outcome && (await contentOf(picture, outcome)) }
  })
  if (decoded === undefined || decoded === 'undecided') return decoded
  const { facts, outcome, content } = decoded
  if (!outcome || !content) return { facts, drawn: undefined }
  const bytes = Buffer.isBuffer(content) ? content : await encoded(content, outcome)
  return bytes ? { facts, drawn: { format: outcome.format, bytes } } : 'undecided'
}

/** All frames, encoded already, or the pixels of the first one. */
async function contentOf(picture: Picture, outcome: Outcome): Promise<Buffer | Pixels> {
  const animation = outcome.animated ? await animationOf(picture, outcome) : undefined
  return animation ?? pixelsOf(picture, outcome)
}

function factsOf({ header }: Picture): Facts {
  const { width, height } = header.autoOrient
  return { width, height, frames: header.pages ?? 1, transparent: header.hasAlpha }
}

/** Scaled to exactly this size. Without metadata: what is not asked for is left out. */
function scaled(picture: Sharp, { width, height, crop }: Outcome): Sharp {
  return picture
    .autoOrient()
    .resize(width, height, { fit: crop ? 'cover' : 'fill', position: 'centre' })
    .toColourspace('srgb')
}

function pixelsOf({ open }: Picture, outcome: Outcome): Promise<Pixels> {
  return scaled(open(), outcome)
    .timeout({ seconds: DECODE_SECONDS })
    .raw()
    .toBuffer({ resolveWithObject: true })
}

/** Its frames are decoded and encoded one after another. One that takes too long is drawn as its first frame. */
function animationOf({ open }: Picture, outcome: Outcome): Promise<Buffer | undefined> {
  return scaled(open({ pages: -1 }), outcome)
    .webp({ quality: outcome.quality, effort: ANIMATION_EFFORT })
    .timeout({ seconds: ANIMATION_SECONDS })
    .toBuffer()
    .catch(() => undefined)
}

async function encoded(
  { data, info: { width, height, channels } }: Pixels,
  outcome: Outcome,
): Promise<Buffer | undefined> {
  const picture = await openPixels(data, { width, height, channels })
  return inFormat(picture, outcome)
    .timeout({ seconds: ENCODE_SECONDS })
    .toBuffer()
    .catch(() => undefined)
}

function inFormat(picture: Sharp, { format, quality }: Outcome): Sharp {
  switch (format) {
    case 'jpeg':
      return picture.flatten({ background: 'white' }).jpeg({ quality })
    case 'png':
      return picture.png()
    case 'webp':
      return picture.webp({ quality })
    case 'avif':
      return picture.avif({
        quality: AVIF_QUALITY[quality],
        effort: AVIF_EFFORT,
        chromaSubsampling: '4:2:0',
      })
  }
}
