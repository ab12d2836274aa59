import { open } from 'node:fs/promises'
import type { CreateRaw, Metadata, Sharp, SharpOptions } from 'sharp'
import { hasTooManyParts } from './picture-parts.ts'

type SharpModule = typeof import('sharp').default

/**
 * `late`: it took longer than the limit. `undecided`: the failure says nothing about the picture, for example when
 * memory ran out.
 */
export type Drawn = Buffer | 'late' | 'undecided' | undefined

export type Pixels = { data: Uint8Array; width: number; height: number }

const MAX_SIDE = 256
/** Also of all frames of an animation together. */
export const MAX_INPUT_PIXELS = 50_000_000
const MAX_HELD_BYTES = 150_000_000
const LINES_HELD = 512
/** Measured: the lines as decoded, and half as many again on their way through the resizer. */
const COPIES_OF_LINES = 1.5
/** For pixels that are there already. */
const PAGE_SECONDS = 5
const LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif'].flatMap((name) => [
  `VipsForeignLoad${name}File`,
  `VipsForeignLoad${name}Buffer`,
])

let loading: Promise<SharpModule> | undefined

function sharpLibrary(): Promise<SharpModule> {
  loading ??= loadSharp().catch((error) => {
    loading = undefined
    throw error
  })
  return loading
}

/** The decoder library is large, so it is loaded with the first picture. */
async function loadSharp(): Promise<SharpModule> {
  const { default: sharp } = await import('sharp')
  sharp.cache(false)
  sharp.concurrency(1)
  // Only the loaders of accepted types: a renamed SVG or TIFF never reaches its decoder.
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: LOADERS })
  return sharp
}

/** Returns undefined when the picture is broken or too large. */
export function jpegFromImage(path: string, seconds: number): Promise<Drawn> {
  return withinLimits(path, ({ open }) => smallJpeg(open().autoOrient(), seconds))
}

/** A picture whose header is within the limits. `open` starts a drawing; without options, of its first frame. */
export type Picture = { header: Metadata; open(options?: SharpOptions): Sharp }

/** Returns undefined, as for a failed drawing, when the picture is broken or too large. */
export async function withinLimits<T>(
  path: string,
  draw: (picture: Picture) => Promise<T>,
): Promise<T | 'late' | 'undecided' | undefined> {
  const sharp = await sharpLibrary()
  const options = { limitInputPixels: MAX_INPUT_PIXELS, failOn: 'error' } as const
  try {
    if (await hasTooManyParts(path)) return undefined
    const header = await sharp(path, options).metadata()
    if (bytesHeld(header) > MAX_HELD_BYTES) return undefined
    const open = (more?: SharpOptions) => sharp(path, { ...options, sequentialRead: true, ...more })
    return await draw({ header, open })
  } catch (error) {
    if (isTimeout(error)) return 'late'
    return isShortage(error) || !(await canBeOpened(path)) ? 'undecided' : undefined
  }
}

/** For pixels that were drawn before. */
export async function openPixels(data: Buffer, raw: CreateRaw): Promise<Sharp> {
  return (await sharpLibrary())(data, { raw })
}

/** The peak memory of the decoder, which holds some lines of every picture, and all lines of some. */
function bytesHeld(header: Metadata): number {
  const { width, height } = header
  const lines = COPIES_OF_LINES * bytesPerPixel(header) * width * Math.min(height, LINES_HELD)
  return lines + bytesPerHeldPixel(header) * width * height
}

/** A depth that is not listed here has at most as many bytes as a double. */
function bytesPerPixel({ channels, depth }: Metadata): number {
  return channels * ({ uchar: 1, char: 1, ushort: 2, short: 2 }[depth as string] ?? 8)
}

/** Measured. GIF and WebP are held whole, as are interlaced and progressive pictures. */
function bytesPerHeldPixel({ format, isProgressive, ...header }: Metadata): number {
  // A frame of a GIF may need a second copy of the picture.
  if (format === 'gif') return 8
  if (format === 'webp') return header.pages ? 5 : 4
  if (!isProgressive) return 0
  const samples = header.chromaSubsampling === '4:2:0' ? 1.5 : header.channels
  return samples * (format === 'jpeg' || header.depth === 'ushort' ? 2 : 1)
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('timeout: ')
}

function isShortage(error: unknown): boolean {
  return /memory|allocat/i.test(String(error))
}

/** The decoder reports a file that it cannot open as one of unknown format. */
async function canBeOpened(path: string): Promise<boolean> {
  const file = await open(path).catch(() => undefined)
  await file?.close()
  return file !== undefined
}

export async function jpegFromPixels({ data, width, height }: Pixels): Promise<Drawn> {
  const sharp = await sharpLibrary()
  const page = sharp(data, { raw: { width, height, channels: 4 } })
  return smallJpeg(page, PAGE_SECONDS).catch((error) =>
    isShortage(error) ? 'undecided' : undefined,
  )
}

/** The result contains only what is requested here: no EXIF, no location, no colour profile. */
function smallJpeg(picture: Sharp, seconds: number): Promise<Buffer> {
  return picture
    .resize(MAX_SIDE, MAX_SIDE, { fit: 'inside', withoutEnlargement: true })
    .flatten({ background: 'white' })
    .jpeg({ quality: 80 })
    .timeout({ seconds })
    .toBuffer()
}
