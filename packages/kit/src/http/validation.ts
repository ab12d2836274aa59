import { Ajv } from 'ajv'
import type { TSchema } from 'typebox'

/** How every schema is applied: nothing is converted or dropped, and every fault is reported. */
export const VALIDATION = {
  coerceTypes: false,
  removeAdditional: false,
  allErrors: true,
  verbose: true,
  keywords: ['message'],
}

/** Most schemas are written once and used by every service of a process. */
const rewritten = new WeakMap<object, object>()

/**
 * Returns the schema with counts checked before members: if there are too many members, only the count
 * is reported. A validator that collects all faults would otherwise check every one of them.
 */
export function countsFirst(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(countsFirst)
  if (typeof schema !== 'object' || schema === null) return schema
  const known = rewritten.get(schema) ?? withCountsFirst(schema)
  rewritten.set(schema, known)
  return known
}

function withCountsFirst(schema: object): object {
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

function defined(members: Record<string, unknown>) {
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
