import { hash } from 'node:crypto'
import type { PictureParameters } from '../picture-settings.ts'
import { MAX_INPUT_PIXELS } from '../thumbnails/image.ts'

/** What is known of a picture from its header. The size is the one seen, after its orientation is applied. */
export type Facts = { width: number; height: number; frames: number; transparent: boolean }

export type Format = Exclude<PictureParameters['format'], 'auto'>

/** What is drawn for a request. */
export type Outcome = {
  format: Format
  quality: PictureParameters['quality']
  width: number
  height: number
  /** Whether the edges are cut off to reach the shape. */
  crop: boolean
  /** Whether all frames are drawn. */
  animated: boolean
}

/** AVIF takes several times as long as WebP, and nothing can interrupt it. */
const MAX_AUTOMATIC_AVIF_PIXELS = 1_000_000
const MAX_AVIF_PIXELS = 2_000_000
const MAX_FRAMES = 100

/** Part of every entity tag: change it when the same parameters give other bytes. */
const EDITION = '1'

/** The modern formats that an `Accept` header names. A wildcard names none: clients without AVIF send it too. */
export function formatsNamedIn(accept: string | undefined): Set<Format> {
  const ranges = (accept ?? '').toLowerCase().split(',')
  const weights = (format: Format) =>
    ranges.flatMap((range) => {
      const [type, ...parameters] = range.split(';').map((part) => part.trim())
      if (type !== `image/${format}`) return []
      const weight = parameters.find((parameter) => parameter.startsWith('q='))
      return [weight === undefined || !/^q=0(\.0*)?$/.test(weight)]
    })
  const isNamed = (format: Format) => weights(format).length > 0 && weights(format).every(Boolean)
  return new Set((['avif', 'webp'] as const).filter(isNamed))
}

/** The formats that a request may lead to, whatever the picture is. */
export function possibleFormats(
  { format }: PictureParameters,
  named: ReadonlySet<Format>,
): Format[] {
  return format === 'auto' ? [...named, 'png', 'jpeg'] : [format]
}

/** Returns undefined for AVIF of more pixels than are offered. */
export function outcomeFor(
  parameters: PictureParameters,
  named: ReadonlySet<Format>,
  facts: Facts,
): Outcome | undefined {
  const { width, height } = sizeOf(parameters, facts)
  const format = formatOf(parameters, named, { ...facts, pixels: width * height })
  if (format === 'avif' && width * height > MAX_AVIF_PIXELS) return undefined
  return {
    format,
    quality: parameters.quality,
    width,
    height,
    crop: parameters.fit === 'cover',
    animated: format === 'webp' && isAnimation(facts),
  }
}

function isAnimation({ frames, width, height }: Facts): boolean {
  return frames > 1 && frames <= MAX_FRAMES && frames * width * height <= MAX_INPUT_PIXELS
}

/** Never larger than the picture: for `cover` the largest crop of the same shape that fits. */
function sizeOf({ width, height, fit }: PictureParameters, facts: Facts) {
  const [across, down] = [(width ?? Infinity) / facts.width, (height ?? Infinity) / facts.height]
  if (fit === 'cover' && width !== undefined && height !== undefined) {
    const scale = Math.min(1, 1 / across, 1 / down)
    return { width: rounded(width * scale), height: rounded(height * scale) }
  }
  const scale = Math.min(1, across, down)
  return { width: rounded(facts.width * scale), height: rounded(facts.height * scale) }
}

function rounded(side: number): number {
  return Math.max(1, Math.round(side))
}

function formatOf(
  { format }: PictureParameters,
  named: ReadonlySet<Format>,
  { frames, transparent, pixels }: Facts & { pixels: number },
): Format {
  if (format !== 'auto') return format
  const isQuick = frames === 1 && pixels <= MAX_AUTOMATIC_AVIF_PIXELS
  if (named.has('avif') && isQuick) return 'avif'
  if (named.has('webp')) return 'webp'
  return transparent ? 'png' : 'jpeg'
}

/** One spelling for all requests that ask for the same: made of parsed values, never of the query. */
export function spelled(parameters: PictureParameters, format: Format): string {
  const { width, height, fit, quality } = parameters
  const sides = `${width ?? ''}x${height ?? ''}`
  // PNG is drawn without loss, so its quality changes nothing.
  return [sides, fit, format, ...(format === 'png' ? [] : [quality])].join(' ')
}

export function entityTagOf(checksumSha256: string, spelling: string): string {
  return `"${hash('sha256', `${EDITION} ${checksumSha256} ${spelling}`).slice(0, 32)}"`
}
