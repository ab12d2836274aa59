import type { Form, FormValue } from './form.ts'
import {
  parameterEmpty,
  parameterInvalid,
  parameterMissing,
  parameterUnknown,
} from './provider-errors.ts'

/** Reads one parameter, or says what is wrong with it. An absent one is `undefined`. */
export type Reader<T> = (value: FormValue | undefined, name: string) => T
type Shape = Record<string, Reader<unknown>>
type Read<S extends Shape> = { [K in keyof S]: S[K] extends Reader<infer T> ? T : never }

/** The parameters of one call. A name that is not in the shape is refused. */
export function readParameters<S extends Shape>(form: Form, shape: S): Read<S> {
  return readShape(form, shape, '')
}

function readShape<S extends Shape>(form: Form, shape: S, holder: string): Read<S> {
  const nameOf = (key: string) => (holder === '' ? key : `${holder}[${key}]`)
  const stranger = Object.keys(form).find((key) => !Object.hasOwn(shape, key))
  if (stranger !== undefined) throw parameterUnknown(nameOf(stranger))
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
    if (keys.some((key, index) => key !== String(index)))
      throw parameterInvalid(name, 'Invalid array')
    if (keys.length > most)
      throw parameterInvalid(name, `Array ${name} exceeded maximum ${most} allowed elements.`)
    return keys.map((key) => read(value[key], `${name}[${key}]`))
  }
}

export function text(limits: { max?: number } = {}): Reader<string | undefined> {
  const { max = 5000 } = limits
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

/** In characters, as a caller counts: many a character takes two places in a string. */
export function lengthOf(text: string): number {
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

export function integer(limits: { min?: number; max?: number } = {}): Reader<number | undefined> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = limits
  return (value, name) => {
    const given = text()(value, name)
    if (given === undefined) return undefined
    const number = /^-?\d{1,16}$/.test(given) ? Number(given) : Number.NaN
    if (!Number.isSafeInteger(number))
      throw parameterInvalid(name, `Invalid integer: ${given}`, 'parameter_invalid_integer')
    if (number < min)
      throw parameterInvalid(
        name,
        `This value must be greater than or equal to ${min}.`,
        'parameter_invalid_integer',
      )
    if (number > max)
      throw parameterInvalid(
        name,
        `This value must be less than or equal to ${max}.`,
        'parameter_invalid_integer',
      )
    return number
  }
}

export function flag(): Reader<boolean | undefined> {
  return (value, name) => {
    const given = choice(['true', 'false'])(value, name)
    return given === undefined ? undefined : given === 'true'
  }
}
