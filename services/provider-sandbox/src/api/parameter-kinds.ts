import type { Metadata } from '../objects/object-kinds.ts'
import type { FormValue } from './form.ts'
import { integer, lengthOf, list, object, type Reader, required, text } from './parameters.ts'
import { parameterInvalid } from './provider-errors.ts'

const MOST_ENTRIES = 50
const LONGEST_KEY = 40
const LONGEST_VALUE = 500

/** An empty value removes an entry, an empty `metadata` removes them all: see `mergeMetadata`. */
export function metadata(): Reader<Metadata | undefined> {
  return (value, name) => {
    if (value === undefined) return undefined
    if (value === '') return {}
    if (typeof value === 'string') throw parameterInvalid(name, 'Invalid metadata')
    const entries = Object.entries(value)
    if (entries.length > MOST_ENTRIES)
      throw parameterInvalid(name, `Metadata can have at most ${MOST_ENTRIES} keys`)
    return Object.fromEntries(
      entries.map(([key, entry]) => [key, readEntry(key, entry, `${name}[${key}]`)]),
    )
  }
}

function readEntry(key: string, value: FormValue, name: string): string {
  if (lengthOf(key) > LONGEST_KEY)
    throw parameterInvalid(name, `Metadata keys can be at most ${LONGEST_KEY} characters`)
  if (typeof value !== 'string' || lengthOf(value) > LONGEST_VALUE)
    throw parameterInvalid(name, `Metadata values can be at most ${LONGEST_VALUE} characters`)
  return value
}

export function mergeMetadata(present: Metadata, change: Metadata | undefined): Metadata {
  if (change === undefined) return present
  if (Object.keys(change).length === 0) return {}
  return Object.fromEntries(
    Object.entries({ ...present, ...change }).filter(([, value]) => value !== ''),
  )
}

export function email(): Reader<string | undefined> {
  return (value, name) => {
    const given = text({ max: 512 })(value, name)
    if (given !== undefined && !/^[^\s@]+@[^\s@]+$/.test(given))
      throw parameterInvalid(name, `Invalid email address: ${given}`, 'email_invalid')
    return given
  }
}

export function webAddress(): Reader<string | undefined> {
  return (value, name) => {
    const given = text()(value, name)
    if (given !== undefined && !(/^https?:\/\//.test(given) && URL.canParse(given)))
      throw parameterInvalid(name, 'Not a valid URL', 'url_invalid')
    return given
  }
}

/** Accepted by every call. */
const expandable = { expand: list(required(text()), 100) }

/** Accepted by every list. */
export const pageable = {
  ...expandable,
  limit: integer({ min: 1, max: 100 }),
  starting_after: text(),
  ending_before: text(),
}

const range = object({ gt: integer(), gte: integer(), lt: integer(), lte: integer() })

/** A moment, or a range of moments, in Unix seconds. */
export const createdRange: Reader<CreatedRange | undefined> = (value, name) => {
  if (typeof value !== 'string') return range(value, name)
  const moment = integer()(value, name)
  return { gte: moment, lte: moment }
}

export type CreatedRange = { gt?: number; gte?: number; lt?: number; lte?: number }
