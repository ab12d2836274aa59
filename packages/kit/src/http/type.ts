import type { Type as TypeBox } from 'typebox'

type Schema = Record<string, unknown>

const optional = new WeakSet<Schema>()

const simple = (type: string) => (options?: Schema) => ({ type, ...options })

const words = {
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
    const required = Object.entries(properties).filter(([, schema]) => !optional.has(schema))
    const names = required.length > 0 && { required: required.map(([name]) => name) }
    return { type: 'object', ...names, properties, ...options }
  },
  Optional: (schema: Schema) => {
    const copy = { ...schema }
    optional.add(copy)
    return copy
  },
  Unsafe: (schema: Schema) => schema,
}

/**
 * The words of TypeBox that our schemas are made of, with TypeBox's own types. What they make is
 * plain JSON Schema, a line each; loading the library for it took a tenth of the whole start.
 */
export const Type = words as unknown as Pick<typeof TypeBox, keyof typeof words>
