import { Ajv } from 'ajv'
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
 * JSON Schema; loading the library for them took a tenth of the start-up time.
 */
export const Type = types as unknown as Pick<typeof TypeBox, keyof typeof types>

export const IdPath = Type.Object({ id: Type.String({ examples: ['1'] }) })

export type SchemaFault = {
  instancePath: string
  keyword: string
  message?: string
  params: Record<string, unknown>
  /** Set when the name of a property is at fault and not its value. */
  propertyName?: string
  parentSchema?: { message?: string; properties?: object }
}

/** Turns faults into messages for people, `field: message`; only the first fault of each field is listed. */
export function describeFaults(faults: SchemaFault[]): string[] {
  const byField = new Map<string, string>()
  const informative = faults.filter(isInformative)
  for (const fault of informative) {
    const field = fieldOf(fault)
    if (!byField.has(field)) byField.set(field, messageOf(withChoices(fault, informative)))
  }
  return [...byField].slice(0, MAX_FAULTS).map(([field, message]) => `${field}: ${message}`)
}

const MAX_FAULTS = 20

const UNINFORMATIVE = ['anyOf', 'if', 'propertyNames']

/** A nullable field reports a fault for each branch of its schema; the null branch does not help. */
function isInformative(fault: SchemaFault): boolean {
  if (UNINFORMATIVE.includes(fault.keyword)) return false
  return !(fault.keyword === 'type' && fault.params.type === 'null')
}

function fieldOf({ instancePath, keyword, params, propertyName }: SchemaFault): string {
  const parts = instancePath.split('/').slice(1).map(unescapePointer)
  if (keyword === 'required') parts.push(String(params.missingProperty))
  if (keyword === 'additionalProperties') parts.push(String(params.additionalProperty))
  if (propertyName !== undefined) parts.push(propertyName)
  return parts.length === 0 ? 'body' : parts.join('.')
}

/** The validator reports a fault for each constant of a choice; merges them into one that names them all. */
function withChoices(fault: SchemaFault, faults: SchemaFault[]): SchemaFault {
  if (fault.keyword !== 'const') return fault
  const allowedValues = faults
    .filter(
      ({ keyword, instancePath }) => keyword === 'const' && instancePath === fault.instancePath,
    )
    .map(({ params }) => params.allowedValue)
  return { ...fault, keyword: 'enum', params: { allowedValues } }
}

function messageOf({ keyword, message, params, parentSchema }: SchemaFault): string {
  if (keyword === 'required') return 'is required'
  if (keyword === 'additionalProperties')
    return `is not a member of this body, which has ${Object.keys(parentSchema?.properties ?? {}).join(', ')}`
  if (parentSchema?.message && keyword !== 'type' && !/Length$/.test(keyword))
    return parentSchema.message
  if (keyword === 'minLength' && params.limit === 1) return 'must not be blank'
  if (keyword === 'minLength') return `must have at least ${params.limit} characters`
  if (keyword === 'maxLength') return `must have at most ${params.limit} characters`
  if (/^max(Properties|Items)$/.test(keyword)) return `must have at most ${entries(params.limit)}`
  if (/^min(Properties|Items)$/.test(keyword)) return `must have at least ${entries(params.limit)}`
  if (keyword === 'enum') return `must be one of ${[params.allowedValues].flat().join(', ')}`
  if (keyword === 'type') return `must be ${article(String(params.type))}`
  return message ?? 'is not acceptable'
}

function entries(limit: unknown): string {
  return limit === 1 ? '1 entry' : `${limit} entries`
}

function article(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** How every schema is applied: nothing is converted or dropped, and every fault is reported. */
export const VALIDATION = {
  coerceTypes: false,
  removeAdditional: false,
  allErrors: true,
  verbose: true,
  keywords: ['message'],
}

/**
 * Returns the schema with counts checked before members: if there are too many members, only the count
 * is reported. A validator that collects all faults would otherwise check every one of them.
 */
export function countsFirst(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(countsFirst)
  if (typeof schema !== 'object' || schema === null) return schema
  const copy = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, countsFirst(value)]),
  )
  const { maxProperties, maxItems, items, patternProperties, propertyNames, ...others } = copy
  const limit = maxItems === undefined ? { maxProperties } : { maxItems }
  if (Object.values(limit)[0] === undefined) return copy
  // `additionalProperties` depends on `properties`: in an object with named members both stay outside `then`.
  const { additionalProperties, ...plain } = others
  const isRecord = others.properties === undefined
  const rest = isRecord ? plain : others
  const named = isRecord ? { additionalProperties } : {}
  const members = defined({ items, patternProperties, propertyNames, ...named })
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  return { ...rest, ...limit, if: limit, then: members }
}

function defined(members: Schema): Schema {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

/** A `preValidation` hook for a route with an optional body: a missing one becomes an empty object. */
export async function emptyBody(request: { body?: unknown }): Promise<void> {
  request.body ??= {}
}

/** Validates a value that did not come over HTTP by the same rules, with the same messages. */
export function faultsOf(schema: TSchema, value: unknown): string[] {
  const validate = new Ajv(VALIDATION).compile(schema)
  return validate(value) ? [] : describeFaults((validate.errors ?? []) as SchemaFault[])
}
