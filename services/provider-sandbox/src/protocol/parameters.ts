import { type Metadata, mergeMetadata } from '../state/objects/members.ts'
import type { CreatedRange } from '../state/objects/objects.repository.ts'
import { parameterEmpty, parameterInvalid, parameterMissing, parameterUnknown } from './errors.ts'
import type { Form, FormValue } from './form.ts'

/** Reads one parameter or throws what is wrong with it. An absent one is `undefined`. */
export type Reader<T> = (value: FormValue | undefined, name: string) => T

type Shape = Record<string, Reader<unknown>>

type Read<S extends Shape> = { [K in keyof S]: S[K] extends Reader<infer T> ? T : never }

/** The parameters of one call. A name that is not in the shape is refused. */
export function parameters<S extends Shape>(form: Form, shape: S): Read<S> {
  return readShape(form, shape, '')
}

function readShape<S extends Shape>(form: Form, shape: S, holder: string): Read<S> {
  const nameOf = (key: string) => (holder === '' ? key : `${holder}[${key}]`)
  const unknown = Object.keys(form).find((key) => !Object.hasOwn(shape, key))
  if (unknown !== undefined) throw parameterUnknown(nameOf(unknown))
  const entries = Object.entries(shape).map(([key, read]) => [key, read(form[key], nameOf(key))])
  return Object.fromEntries(entries) as Read<S>
}

export function required<T>(read: Reader<T | undefined>): Reader<T> {
  return (value, name) => {
    const found = read(value, name)
    if (found === undefined) throw parameterMissing(name)
    return found
  }
}

export function object<S extends Shape>(shape: S): Reader<Read<S> | undefined> {
  return (value, name) => {
    if (value === undefined) return undefined
    if (typeof value === 'string')
      throw parameterInvalid(name, 'Invalid object', 'parameter_invalid_object')
    return readShape(value, shape, name)
  }
}

export function list<T>(read: Reader<T>, most: number): Reader<T[] | undefined> {
  return (value, name) => {
    if (value === undefined) return undefined
    if (typeof value === 'string') throw parameterInvalid(name, 'Invalid array')
    const keys = Object.keys(value)
    if (keys.some((key, n) => key !== String(n))) throw parameterInvalid(name, 'Invalid array')
    if (keys.length > most)
      throw parameterInvalid(name, `Array ${name} exceeded maximum ${most} allowed elements.`)
    return keys.map((key) => read(value[key], `${name}[${key}]`))
  }
}

export function text({ max = 5000 } = {}): Reader<string | undefined> {
  return (value, name) => {
    if (value === undefined) return undefined
    if (typeof value !== 'string')
      throw parameterInvalid(name, 'Invalid string', 'parameter_invalid_string')
    if (value === '') throw parameterEmpty(name)
    if (lengthOf(value) > max)
      throw parameterInvalid(name, `Invalid string: must be at most ${max} characters`)
    return value
  }
}

/** An empty value unsets the parameter, which is then `null`. */
export function emptyable<T>(read: Reader<T>): Reader<T | null> {
  return (value, name) => (value === '' ? null : read(value, name))
}

/** Counts code points: some take two units in a JavaScript string. */
function lengthOf(text: string): number {
  return [...text].length
}

export function choice<const T extends string>(options: readonly T[]): Reader<T | undefined> {
  return (value, name) => {
    const given = text()(value, name)
    const found = options.find((option) => option === given)
    if (given !== undefined && found === undefined)
      throw parameterInvalid(name, `Invalid ${name}: must be one of ${options.join(', ')}`)
    return found
  }
}

export function integer({
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
} = {}): Reader<number | undefined> {
  return (value, name) => {
    const given = text()(value, name)
    if (given === undefined) return undefined
    const number = /^-?\d{1,16}$/.test(given) ? Number(given) : Number.NaN
    const wrong = (message: string) => parameterInvalid(name, message, 'parameter_invalid_integer')
    if (!Number.isSafeInteger(number)) throw wrong(`Invalid integer: ${given}`)
    if (number < min) throw wrong(`This value must be greater than or equal to ${min}.`)
    if (number > max) throw wrong(`This value must be less than or equal to ${max}.`)
    return number
  }
}

export function flag(): Reader<boolean | undefined> {
  return (value, name) => {
    const given = choice(['true', 'false'])(value, name)
    return given === undefined ? undefined : given === 'true'
  }
}

const MAX_ENTRIES = 50
const MAX_KEY = 40
const MAX_VALUE = 500

export function metadata(): Reader<Metadata | undefined> {
  return (value, name) => {
    if (value === undefined) return undefined
    if (value === '') return {}
    if (typeof value === 'string') throw parameterInvalid(name, 'Invalid metadata')
    const entries = Object.entries(value)
    requireFew(entries.length, name)
    return Object.fromEntries(
      entries.map(([key, entry]) => [key, readEntry(key, entry, `${name}[${key}]`)]),
    )
  }
}

/** The metadata of an object after a change; the limit holds for both together. */
export function changedMetadata(present: Metadata, change: Metadata | undefined): Metadata {
  const changed = mergeMetadata(present, change)
  requireFew(Object.keys(changed).length, 'metadata')
  return changed
}

function requireFew(count: number, name: string): void {
  if (count > MAX_ENTRIES)
    throw parameterInvalid(name, `Metadata can have at most ${MAX_ENTRIES} keys`)
}

function readEntry(key: string, value: FormValue, name: string): string {
  if (lengthOf(key) > MAX_KEY)
    throw parameterInvalid(name, `Metadata keys can be at most ${MAX_KEY} characters`)
  if (typeof value !== 'string' || lengthOf(value) > MAX_VALUE)
    throw parameterInvalid(name, `Metadata values can be at most ${MAX_VALUE} characters`)
  return value
}

export function email(): Reader<string | undefined> {
  return (value, name) => {
    const given = text({ max: 512 })(value, name)
    if (given === undefined || /^[^\s@]+@[^\s@]+$/.test(given)) return given
    throw parameterInvalid(name, `Invalid email address: ${given}`, 'email_invalid')
  }
}

export function webAddress(): Reader<string | undefined> {
  return (value, name) => {
    const given = text()(value, name)
    if (given === undefined || (/^https?:\/\//.test(given) && URL.canParse(given))) return given
    throw parameterInvalid(name, 'Not a valid URL', 'url_invalid')
  }
}

const range = object({ gt: integer(), gte: integer(), lt: integer(), lte: integer() })

/** A moment, or a range of moments, in Unix seconds. */
export const createdRange: Reader<CreatedRange | undefined> = (value, name) => {
  if (typeof value !== 'string') return range(value, name)
  const moment = integer()(value, name)
  return { gte: moment, lte: moment }
}
