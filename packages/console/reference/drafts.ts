import { FORM } from '../shared/api/exchange-log.ts'
import type { Media, Operation } from './api-document.ts'

/** A request as it is filled in on the page. */
export type Draft = {
  path: string
  headers: Record<string, string>
  /** Sent as JSON, or as a form if the operation takes one. */
  body?: unknown
  file?: { name: string; type: string }
  /** The parameters by name. */
  values: Record<string, string>
}

/** The kind of body whose members can be typed in: JSON or a form. */
export function bodyOf({ requestBody }: Operation): { media: Media; isForm: boolean } | undefined {
  const [json, form] = ['application/json', FORM].map((type) => requestBody?.content[type])
  const media = json ?? form
  return media && { media, isForm: !json }
}

/** Builds the request from these values. */
export function draftOf(
  { path, parameters = [] }: Operation,
  values: Record<string, string>,
  body: unknown,
  file?: { name: string; type: string },
): Draft {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => segmentOf(values[name] ?? ''))
  const given = (place: string) =>
    parameters
      .filter((parameter) => parameter.in === place && values[parameter.name])
      .map(({ name }) => [name, values[name] ?? ''])
  const query = new URLSearchParams(given('query')).toString().replaceAll(ENCODED, '$$$1')
  return {
    path: query === '' ? filled : `${filled}?${query}`,
    headers: Object.fromEntries(given('header')),
    body,
    file,
    values,
  }
}

const ENCODED = /%24([A-Z_]+)/g

/** A variable of a sample stays readable. */
const segmentOf = (value: string) => (/^\$[A-Z_]+$/.test(value) ? value : encodeURIComponent(value))
