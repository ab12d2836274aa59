import type { Settings } from '@plinth/kit/runtime'

const FITS = ['inside', 'cover'] as const
const FORMATS = ['auto', 'jpeg', 'png', 'webp', 'avif'] as const
/** Few, because every further value is one more rendition that someone can have drawn and kept. */
const QUALITIES = [50, 65, 80, 90] as const
const DEFAULT_SIZES = [64, 128, 256, 384, 512, 640, 750, 828, 1080, 1200, 1600, 1920, 2048]
const MAX_SIDE = 4096
const DEFAULT_CACHE_BYTES = 2 ** 30

/** What a request or a preset asks of a picture; at least one of the sides is given. */
export type PictureParameters = {
  width: number | undefined
  height: number | undefined
  fit: (typeof FITS)[number]
  format: (typeof FORMATS)[number]
  quality: (typeof QUALITIES)[number]
}

export type PictureSettings = {
  /** The sides that a request may ask for; none: presets only. */
  sizes: number[]
  presets: Map<string, PictureParameters>
  /** The most that all kept renditions may need. */
  cacheBytes: number
}

/** Parameters as text; a name that is absent has its default. */
export type GivenParameters = Partial<Record<keyof PictureParameters, string>>

export const PARAMETER_NAMES = ['width', 'height', 'fit', 'format', 'quality'] as const

/** A number in its one spelling: `064`, ` 64` and `64.0` are none. */
export function sideOf(text: string): number | undefined {
  const side = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : Number.NaN
  return side <= MAX_SIDE ? side : undefined
}

/** The parameters, or every fault as `name: message`. */
export function readParameters(given: GivenParameters): PictureParameters | string[] {
  const [width, height] = [given.width, given.height].map((text) => text && sideOf(text))
  const fit = FITS.find((one) => one === (given.fit ?? 'inside'))
  const format = FORMATS.find((one) => one === (given.format ?? 'auto'))
  const quality = QUALITIES.find((one) => String(one) === (given.quality ?? '80'))
  const isSide = (text: string | undefined, side: unknown) => text === undefined || !!side
  const faults = [
    ...(isSide(given.width, width) ? [] : [`width: must be a number from 1 to ${MAX_SIDE}`]),
    ...(isSide(given.height, height) ? [] : [`height: must be a number from 1 to ${MAX_SIDE}`]),
    ...(fit ? [] : [`fit: must be one of ${FITS.join(', ')}`]),
    ...(format ? [] : [`format: must be one of ${FORMATS.join(', ')}`]),
    ...(quality ? [] : [`quality: must be one of ${QUALITIES.join(', ')}`]),
    ...((given.width ?? given.height) ? [] : ['width: must be given, or height']),
    ...(fit === 'cover' && !(given.width && given.height)
      ? ['fit: cover needs width and height']
      : []),
  ]
  if (faults.length > 0 || !fit || !format || !quality) return faults
  return { width: width || undefined, height: height || undefined, fit, format, quality }
}

export function pictureSettings(settings: Settings): PictureSettings {
  return {
    sizes: sizes(settings),
    presets: presets(settings),
    cacheBytes: settings.size('STORAGE_FULL_PICTURE_CACHE_BYTES', DEFAULT_CACHE_BYTES, { min: 0 }),
  }
}

function sizes(settings: Settings): number[] {
  const name = 'STORAGE_FULL_PICTURE_SIZES'
  const listed = settings.list(name, DEFAULT_SIZES.map(String))
  if (listed.length === 1 && listed[0] === 'none') return []
  const sides = listed.flatMap((text) => sideOf(text) ?? [])
  if (sides.length < listed.length)
    settings.fault(name, `Expected none, or numbers from 1 to ${MAX_SIDE}.`, '256,640,1200')
  return [...new Set(sides)].sort((one, other) => one - other)
}

function presets(settings: Settings): Map<string, PictureParameters> {
  const name = 'STORAGE_FULL_PICTURE_PRESETS'
  const found = new Map<string, PictureParameters>()
  for (const text of settings.list(name, [])) {
    const [, preset = '', query = ''] = /^([a-z0-9-]{1,32}):(.+)$/.exec(text) ?? []
    const parameters = presetOf(query)
    if (preset === '' || found.has(preset) || Array.isArray(parameters))
      settings.fault(
        name,
        `Expected distinct presets such as avatar:width=96&height=96&fit=cover, with a size from 1 to ${MAX_SIDE}.`,
        'avatar:width=96&height=96&fit=cover,hero:width=1500&format=webp',
      )
    else found.set(preset, parameters)
  }
  return found
}

/** Stricter than a request: an unknown name is a mistake of the operator. */
function presetOf(query: string): PictureParameters | string[] {
  const given = [...new URLSearchParams(query)]
  const names = given.map(([name]) => name)
  const known: string[] = [...PARAMETER_NAMES]
  if (new Set(names).size < names.length || names.some((name) => !known.includes(name)))
    return [query]
  return readParameters(Object.fromEntries(given))
}
