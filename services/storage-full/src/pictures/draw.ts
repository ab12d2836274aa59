import type { OutputInfo, Sharp } from 'sharp'
import { openPixels, type Picture, withinLimits } from '../thumbnails/image.ts'
import type { Pace } from '../thumbnails/lanes.ts'
import type { Facts, Format, Outcome } from './outcome.ts'

/** For decoding and scaling. A picture that takes longer would take as long the next time. */
const DECODE_SECONDS: Record<Pace, number> = { quick: 1, slow: 10 }
/** Says nothing about the picture, only about how busy the machine is. */
const ENCODE_SECONDS = 20
const ANIMATION_SECONDS = 20
/** Of 9; the default of 4 takes ten times as long. */
const AVIF_EFFORT = 2
const ANIMATION_EFFORT = 1

/** Quality numbers of different encoders mean different things; these look about alike. */
const AVIF_QUALITY = { 50: 35, 65: 45, 80: 55, 90: 65 } as const

/** Most encoders cannot be interrupted, so more pixels than these are slow from the start. */
const QUICK_PIXELS = { avif: 1_000_000, webp: 4_200_000, jpeg: 4_200_000, png: 4_200_000 }

/** `late`: it takes longer than this pace allows. `undecided`: the failure says nothing about the picture. */
export type Drawing =
  | { facts: Facts; drawn: { format: Format; bytes: Buffer } | undefined }
  | 'late'
  | 'undecided'
  | undefined

type Pixels = { data: Buffer; info: OutputInfo }

type Options = {
  pace: Pace
  /** Chooses what to draw once the header is known. */
  decide(facts: Facts): Outcome | undefined
}

/**
 * Draws what `decide` chooses; nothing if it chooses nothing. Returns undefined when the picture is broken or
 * beyond the limits. Pixels and encoding are two steps, because only a failure of the first is about the picture.
 */
export async function drawPicture(path: string, { pace, decide }: Options): Promise<Drawing> {
  const decoded = await withinLimits(path, async (picture) => {
    const facts = factsOf(picture)
    const outcome = decide(facts)
    if (outcome && pace === 'quick' && isSlow(outcome)) return 'late'
    return { facts, outcome, content: outcome && (await contentOf(picture, outcome, pace)) }
  })
  if (decoded === undefined || typeof decoded === 'string') return decoded
  const { facts, outcome, content } = decoded
  if (!outcome || !content) return { facts, drawn: undefined }
  const bytes = Buffer.isBuffer(content) ? content : await encoded(content, outcome)
  return bytes ? { facts, drawn: { format: outcome.format, bytes } } : 'undecided'
}

function isSlow({ animated, format, width, height }: Outcome): boolean {
  return animated || width * height > QUICK_PIXELS[format]
}

/** All frames, encoded already, or the pixels of the first one. */
async function contentOf(picture: Picture, outcome: Outcome, pace: Pace): Promise<Buffer | Pixels> {
  const animation = outcome.animated ? await animationOf(picture, outcome) : undefined
  return animation ?? pixelsOf(picture, outcome, DECODE_SECONDS[pace])
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

function pixelsOf({ open }: Picture, outcome: Outcome, seconds: number): Promise<Pixels> {
  return scaled(open(), outcome).timeout({ seconds }).raw().toBuffer({ resolveWithObject: true })
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
