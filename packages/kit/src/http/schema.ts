import type { TNull, TOptional, TSchema, TString, TUnion, TUnsafe, Type as TypeBox } from 'typebox'
import { type Problem, validationFailed } from '../problems.ts'

type TextLimits = {
  minLength?: number
  maxLength?: number
  examples?: string[]
  description?: string
}

const NOT_BLANK = '\\S'

// Permissive on purpose: one @ with something on both sides; `a@localhost` is an address.
// Control characters and lone surrogates are refused because PostgreSQL cannot store them.
const EMAIL = '^\\s*[^\\s@\\p{Cc}\\p{Cs}]+@[^\\s@\\p{Cc}\\p{Cs}]+\\s*$'

/** Present and not blank. */
export function requiredText(limits: TextLimits = {}): TString {
  return Type.String({ pattern: NOT_BLANK, message: 'must not be blank', ...limits })
}

/** May be absent or null. */
export function optionalText(limits: TextLimits = {}): TOptional<TUnion<[TString, TNull]>> {
  return Type.Optional(Type.Union([Type.String(limits), Type.Null()]))
}

/** For a look-up. No stored text contains NUL, and PostgreSQL refuses it. */
export function lookUpText(limits: TextLimits = {}): TString {
  return Type.String({ pattern: '^[^\\u0000]*$', message: 'must not contain NUL', ...limits })
}

export function emailText(maxLength = 254): TString {
  return Type.String({
    pattern: EMAIL,
    message: 'must be an e-mail address',
    maxLength,
    examples: ['ada@example.com'],
  })
}

export function positiveInteger(maximum = Number.MAX_SAFE_INTEGER) {
  return Type.Integer({
    minimum: 1,
    maximum,
    message: `must be a whole number from 1 to ${maximum}`,
  })
}

/** An instant in a reply: ISO 8601, in UTC. */
export function timestamp(): TString {
  return Type.String({ format: 'date-time' })
}

/** One of these texts. */
export function oneOf<T extends string>(...values: T[]): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', enum: values })
}

/** A member of a reply that is always there and may be null. */
export function orNull<T extends TSchema>(schema: T): TUnion<[T, TNull]> {
  return Type.Union([schema, Type.Null()])
}

type IdRefusal = { name?: string; unknown?: () => Problem }

/**
 * An id from a path: digits without a leading zero, no larger than a number holds exactly. Anything
 * else is an invalid request or, where `unknown` is given, simply an id that does not exist.
 */
export function pathId(text: string, { name = 'id', unknown }: IdRefusal = {}): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(id)) return id
  throw unknown?.() ?? validationFailed([`${name}: must be a positive integer`])
}

type Schema = Record<string | symbol, unknown>

/** Marks a schema whose property may be absent. Ajv ignores symbols. */
const OPTIONAL = Symbol('optional')

const simple = (type: string) => (options?: Schema) => ({ type, ...options })

const types = {
  String: simple('string'),
  Integer: simple('integer'),
  Number: simple('number'),
  Boolean: simple('boolean'),
  Null: simple('null'),
  Literal: (value: string | number, options?: Schema) => ({
    type: typeof value,
    const: value,
    ...options,
  }),
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Union: (anyOf: Schema[], options?: Schema) => ({ anyOf, ...options }),
  Record: (_text: Schema, value: Schema, options?: Schema) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  Object: (properties: Record<string, Schema>, options?: Schema) => {
    const required = Object.entries(properties).filter(([, schema]) => !(OPTIONAL in schema))
    const names = required.length > 0 && { required: required.map(([name]) => name) }
    return { type: 'object', ...names, properties, ...options }
  },
  Optional: (schema: Schema) => ({ ...schema, [OPTIONAL]: true }),
  Unsafe: (schema: Schema) => schema,
}

/**
 * The part of TypeBox that our schemas use, with TypeBox's own types. Each function is a line of plain
 * JSON Schema. The library has no smaller entry than 290 modules, which take 0.12 to 0.17 s of processor time to
 * load even when compiled: a tenth of what `npm start` takes.
 */
export const Type = types as unknown as Pick<typeof TypeBox, keyof typeof types>

export const IdPath = Type.Object({ id: Type.String({ examples: ['1'] }) })
