/** A JSON Schema, or any part of a document. */
export type Json = Record<string, unknown>

/** Named schemas, and references to them in place of copies. */
export type Components = { schemas: Json; reference(schema: unknown): Json }

/**
 * A schema with a `title` becomes a component of that name. Two schemas with the same name must be equal:
 * a reader would otherwise see the wrong one.
 */
export function createComponents(): Components {
  const schemas: Json = {}
  const known = new WeakMap<object, Json>()
  const reference = (schema: unknown): Json => {
    const found = known.get(schema as object) ?? named(schema)
    known.set(schema as object, found)
    return found
  }
  const named = (schema: unknown): Json => {
    const plain = described(mapSchemas(schema as Json, reference))
    const { title, ...rest } = plain
    if (typeof title !== 'string') return plain
    if (schemas[title] !== undefined && !isEqual(schemas[title], rest))
      throw new Error(`Two schemas have the title ${title}`)
    schemas[title] = rest
    return { $ref: `#/components/schemas/${title}` }
  }
  return { schemas, reference }
}

const isEqual = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

const ANY_NAME = '^.*$'

/**
 * The same schema in keywords that every tool supports: our `message` becomes a description, and a record
 * describes its values with `additionalProperties` instead of a pattern that any name matches.
 */
function described({ message, patternProperties, ...schema }: Json): Json {
  if (message !== undefined) schema.description ??= message
  if (patternProperties === undefined) return schema
  const { [ANY_NAME]: values, ...patterns } = patternProperties as Json
  if (Object.keys(patterns).length > 0) schema.patternProperties = patterns
  return { ...schema, additionalProperties: schema.additionalProperties ?? values }
}

const HOLDS_ONE = ['items', 'additionalProperties', 'propertyNames', 'not']
const HOLDS_LIST = ['anyOf', 'oneOf', 'allOf']
const HOLDS_NAMED = ['properties', 'patternProperties']

/** A copy in which `change` was applied to every schema directly inside. */
export function mapSchemas(schema: Json, change: (inner: Json) => Json): Json {
  const changed = (name: string, value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (HOLDS_ONE.includes(name)) return change(value as Json)
    if (HOLDS_LIST.includes(name)) return (value as Json[]).map(change)
    if (!HOLDS_NAMED.includes(name)) return value
    const named = Object.entries(value as Record<string, Json>)
    return Object.fromEntries(named.map(([key, inner]) => [key, change(inner)]))
  }
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, changed(name, value)]),
  )
}

const BY_FORMAT: Record<string, string> = {
  date: '2030-01-01',
  'date-time': '2030-01-01T12:00:00.000Z',
  uuid: '6f1f4c8e-2a59-4f0c-9d5e-3b7a1c2d4e5f',
  uri: 'https://shop.example/',
}

type Described = Json & {
  examples?: unknown[]
  anyOf?: Json[]
  properties?: Json
  required?: string[]
}

/**
 * A value that the schema accepts, built from the examples of its parts. Optional members without an
 * example are left out: the service has rules that the schema does not know.
 */
export function exampleOf(given: unknown): unknown {
  const schema = given as Described
  if (schema.examples?.length) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if (schema.anyOf) return exampleOf(schema.anyOf[0])
  switch (schema.type) {
    case 'object': {
      const { properties = {}, required = [] } = schema
      const members = Object.entries(properties)
      const shown = members.filter(([name, inner]) => required.includes(name) || hasExample(inner))
      return Object.fromEntries(shown.map(([name, inner]) => [name, exampleOf(inner)]))
    }
    case 'array':
      return [exampleOf(schema.items)]
    case 'string':
      return BY_FORMAT[String(schema.format)] ?? 'text'
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return schema.minimum ?? 1
  }
}

/** False for free text that has no example of its own. */
export function hasExample(given: unknown): boolean {
  const { examples, anyOf, ...schema } = given as Described
  if (examples?.length || schema.const !== undefined || schema.enum) return true
  if (anyOf) return hasExample(anyOf[0])
  if (schema.type === 'array') return hasExample(schema.items)
  return schema.type !== 'string' || String(schema.format) in BY_FORMAT
}
