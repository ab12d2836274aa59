import { validationFailed } from '@plinth/kit/problems'
import {
  type GivenParameters,
  PARAMETER_NAMES,
  type PictureParameters,
  type PictureSettings,
  readParameters,
  sideOf,
} from '../picture-settings.ts'
import { pictureNotOffered } from './problems.ts'

export type PictureRequest = PictureParameters & {
  /** The version of the content that the address names, if it names one. */
  v: string | undefined
}

export type Offer = Pick<PictureSettings, 'sizes' | 'presets'>

/** Unknown parameters are ignored; a known one that is repeated is refused, because caches would differ about it. */
export function requestedPicture(query: unknown, { sizes, presets }: Offer): PictureRequest {
  const given = query as Record<string, unknown>
  const names = [...PARAMETER_NAMES, 'preset', 'v'] as const
  const repeated = names.filter((name) => Array.isArray(given[name]))
  if (repeated.length > 0) throw validationFailed(repeated.map((name) => `${name}: is repeated`))
  const { preset, v, ...parameters } = given as GivenParameters & { preset?: string; v?: string }
  if (preset === undefined) return { ...parametersFrom(parameters, sizes), v }
  const others = PARAMETER_NAMES.filter((name) => parameters[name] !== undefined)
  if (others.length > 0)
    throw validationFailed(others.map((name) => `${name}: cannot be combined with preset`))
  const found = presets.get(preset)
  if (!found) throw validationFailed(['preset: there is no preset of this name'])
  return { ...found, v }
}

function parametersFrom(given: GivenParameters, sizes: number[]): PictureParameters {
  const isOffered = (text: string) => sizes.some((size) => size === sideOf(text))
  if (![given.width, given.height].every((text) => text === undefined || isOffered(text)))
    throw pictureNotOffered({ extra: { sizes } })
  const parameters = readParameters(given)
  if (Array.isArray(parameters)) throw validationFailed(parameters)
  return parameters
}
